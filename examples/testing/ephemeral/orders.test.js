// A test in Node on a broker of its own: npm install kafkajs; node --test orders.test.js
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { Kafka, logLevel } from 'kafkajs'

let broker // ends, and removes its data, when it is asked to, and with this process, however that ends
let kafka

before(async () => {
  broker = spawn('shareq', ['serve', '--ephemeral'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(createInterface({ input: broker.stdout }), 'line')
  kafka = new Kafka({ brokers: [JSON.parse(line).bootstrap], logLevel: logLevel.NOTHING })
})

after(async () => {
  broker.kill()
  await once(broker, 'exit')
})

test('an order is written and read', async () => {
  const producer = kafka.producer()
  await producer.connect()
  await producer.send({ topic: 'orders', messages: [{ value: 'a vase' }] })
  await producer.disconnect()

  const consumer = kafka.consumer({ groupId: 'packers' })
  await consumer.connect()
  await consumer.subscribe({ topic: 'orders', fromBeginning: true })
  const value = await new Promise((resolve) =>
    consumer.run({ eachMessage: async ({ message }) => resolve(message.value.toString()) }),
  )
  await consumer.disconnect()
  assert.equal(value, 'a vase')
})
