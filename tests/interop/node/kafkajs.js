// kafkajs under test.
import { randomUUID } from 'node:crypto'
import kafkajs from 'kafkajs'
import { serve, tlsOptions, tokenOf } from './driver.js'

const { CompressionTypes, ConfigResourceTypes, Kafka, logLevel } = kafkajs
const codecs = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP }

function saslOptions({ mechanism, username, password, token_file: file }) {
  if (file) return { mechanism: mechanism.toLowerCase(), oauthBearerProvider: async () => ({ value: tokenOf(file) }) }
  return { mechanism: mechanism.toLowerCase(), username, password }
}

function connect({ bootstrap, login, tls }) {
  const sasl = login && saslOptions(login)
  return new Kafka({ brokers: [bootstrap], sasl: sasl ?? undefined, ssl: tlsOptions(tls), logLevel: logLevel.NOTHING })
}

// Runs work with a producer, consumer or admin client, which is disconnected at the end.
async function using(client, work) {
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.disconnect()
  }
}

async function produce(command) {
  const producer = connect(command).producer({
    idempotent: command.idempotent || Boolean(command.transaction),
    transactionalId: command.transaction,
    maxInFlightRequests: 1
  })
  const batch = {
    topic: command.topic,
    acks: -1,
    compression: codecs[command.compression ?? 'none'],
    messages: command.values.map((value) => ({ value, headers: command.headers }))
  }
  await using(producer, async () => {
    if (!command.transaction) return producer.send(batch)
    const transaction = await producer.transaction()
    await transaction.send(batch)
    return command.abort ? transaction.abort() : transaction.commit()
  })
  return {}
}

// Records of a member, until there are count. It has committed what it read.
async function consume(command, group, readUncommitted) {
  const consumer = connect(command).consumer({ groupId: group, readUncommitted, maxWaitTimeInMs: 200 })
  const records = []
  await using(consumer, async () => {
    await consumer.subscribe({ topics: [command.topic], fromBeginning: true })
    await new Promise((resolve, reject) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
      consumer
        .run({
          autoCommit: false,
          eachMessage: async ({ message }) => {
            const headers = Object.entries(message.headers ?? {}).map(([name, value]) => [name, value.toString()])
            records.push({
              offset: Number(message.offset),
              value: message.value.toString(),
              headers: Object.fromEntries(headers)
            })
            if (records.length === command.count) resolve()
          }
        })
        .catch(reject)
    })
    const next = String(records.at(-1).offset + 1)
    await consumer.commitOffsets([{ topic: command.topic, partition: 0, offset: next }])
  })
  return records
}

const fetch = async (command) => ({
  records: await consume(command, randomUUID(), !command.committed)
})

const group = async (command) => ({
  values: (await consume(command, command.group, true)).map((record) => record.value)
})

const administer = (command, work) => using(connect(command).admin(), work)

const offsets = (command) =>
  administer(command, async (admin) => {
    const [{ low, high }] = await admin.fetchTopicOffsets(command.topic)
    return { earliest: Number(low), latest: Number(high) }
  })

const create_topic = (command) =>
  administer(command, async (admin) => {
    await admin.createTopics({ topics: [{ topic: command.topic, numPartitions: command.partitions }] })
    return {}
  })

const describe_topic = (command) =>
  administer(command, async (admin) => {
    if (!(await admin.listTopics()).includes(command.topic)) return { partitions: 0 }
    const { topics } = await admin.fetchTopicMetadata({ topics: [command.topic] })
    return { partitions: topics[0].partitions.length }
  })

const delete_topic = (command) =>
  administer(command, async (admin) => {
    await admin.deleteTopics({ topics: [command.topic] })
    return {}
  })

const configs = (command) =>
  administer(command, async (admin) => {
    const resource = { type: ConfigResourceTypes.TOPIC, name: command.topic }
    const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [resource] })
    const pairs = resources[0].configEntries.map(({ configName, configValue }) => [configName, configValue])
    return { configs: Object.fromEntries(pairs) }
  })

const groups = (command) =>
  administer(command, async (admin) => {
    const listed = (await admin.listGroups()).groups.map((one) => one.groupId)
    const { groups } = await admin.describeGroups([command.group])
    return { listed, state: groups[0].state }
  })

const delete_records = (command) =>
  administer(command, async (admin) => {
    const partitions = [{ partition: 0, offset: String(command.before) }]
    await admin.fetchTopicOffsets(command.topic) // it cannot find the leader before
    await admin.deleteTopicRecords({ topic: command.topic, partitions })
    return {}
  })

await serve('kafkajs', {
  produce, fetch, offsets, group, create_topic, describe_topic, delete_topic, configs, groups, delete_records
})
