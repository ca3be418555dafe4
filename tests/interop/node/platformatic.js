// @platformatic/kafka under test.
import { randomUUID } from 'node:crypto'
import { Admin, ConfigResourceTypes, Consumer, MessagesStreamModes, Producer, stringSerializers, stringDeserializers } from '@platformatic/kafka'
import { serve, tlsOptions, tokenOf } from './driver.js'

function settings({ bootstrap, login, tls }) {
  const file = login?.token_file
  const sasl = file ? { mechanism: login.mechanism, token: () => tokenOf(file) } : (login ?? undefined)
  return { clientId: 'platformatic', bootstrapBrokers: [bootstrap], sasl, tls: tlsOptions(tls), timeout: 10_000 }
}

// Runs work with a client, which is closed at the end.
async function using(client, work) {
  try {
    return await work(client)
  } finally {
    await client.close(true)
  }
}

async function produce(command) {
  const producer = new Producer({
    ...settings(command),
    serializers: stringSerializers,
    idempotent: command.idempotent || Boolean(command.transaction),
    ...(command.transaction && { transactionalId: command.transaction })
  })
  const batch = {
    acks: -1,
    compression: command.compression ?? 'none',
    messages: command.values.map((value) => ({ topic: command.topic, value, headers: command.headers ?? {} }))
  }
  await using(producer, async () => {
    if (!command.transaction) return producer.send(batch)
    const transaction = await producer.beginTransaction()
    await transaction.send(batch)
    return command.abort ? transaction.abort() : transaction.commit()
  })
  return {}
}

// Records of a stream, until there are count; commits after the last.
async function consume(command, options, stream) {
  const records = []
  const consumer = new Consumer({ ...settings(command), deserializers: stringDeserializers, maxWaitTime: 200, ...options })
  await using(consumer, async () => {
    const messages = await consumer.consume({ topics: [command.topic], autocommit: false, ...stream })
    for await (const message of messages) {
      records.push({ offset: Number(message.offset), value: message.value, headers: Object.fromEntries(message.headers) })
      if (records.length < command.count) continue
      await message.commit()
      break
    }
    await messages.close()
  })
  return records
}

async function fetch(command) {
  const options = { groupId: randomUUID(), isolationLevel: command.committed ? 1 : 0 }
  return { records: await consume(command, options, { mode: MessagesStreamModes.EARLIEST }) }
}

async function group(command) {
  const options = {
    groupId: command.group,
    groupProtocol: command.protocol,
    ...(command.instance && { groupInstanceId: command.instance })
  }
  const records = await consume(command, options, { mode: MessagesStreamModes.COMMITTED, fallbackMode: 'earliest' })
  return { values: records.map((record) => record.value) }
}

const administer = (command, work) => using(new Admin(settings(command)), work)

const offsets = (command) =>
  administer(command, async (admin) => {
    const at = async (timestamp) => {
      const partitions = [{ partitionIndex: 0, timestamp }]
      const [topic] = await admin.listOffsets({ topics: [{ name: command.topic, partitions }] })
      return topic.partitions[0].offset
    }
    return { earliest: await at(-2n), latest: await at(-1n) }
  })

const create_topic = (command) =>
  administer(command, async (admin) => {
    await admin.createTopics({ topics: [command.topic], partitions: command.partitions, replicas: 1 })
    return {}
  })

const describe_topic = (command) =>
  administer(command, async (admin) => {
    if (!(await admin.listTopics()).includes(command.topic)) return { partitions: 0 }
    const metadata = await admin.metadata({ topics: [command.topic] })
    return { partitions: metadata.topics.get(command.topic).partitionsCount }
  })

const delete_topic = (command) =>
  administer(command, async (admin) => {
    await admin.deleteTopics({ topics: [command.topic] })
    return {}
  })

const configs = (command) =>
  administer(command, async (admin) => {
    const resource = { resourceType: ConfigResourceTypes.TOPIC, resourceName: command.topic, configurationKeys: null }
    const [topic] = await admin.describeConfigs({ resources: [resource] })
    return { configs: Object.fromEntries(topic.configs.map(({ name, value }) => [name, value])) }
  })

const groups = (command) =>
  administer(command, async (admin) => {
    const listed = [...(await admin.listGroups()).keys()]
    const described = await admin.describeGroups({ groups: [command.group] })
    return { listed, state: described.get(command.group).state }
  })

const delete_records = (command) =>
  administer(command, async (admin) => {
    const partitions = [{ partition: 0, offset: BigInt(command.before) }]
    await admin.deleteRecords({ topics: [{ name: command.topic, partitions }] })
    return {}
  })

await serve('@platformatic/kafka', {
  produce, fetch, offsets, group, create_topic, describe_topic, delete_topic, configs, groups, delete_records
})
