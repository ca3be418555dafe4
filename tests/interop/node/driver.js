// One JSON command a line on standard input, one JSON answer a line on standard output.
// Which commands there are, and what they answer, is written in tests/interop/support/clients/commands.py.
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const DEADLINE_MS = 30_000

// commands: name -> async (command) => answer
export async function serve(name, commands) {
  // Both clients fail outside of any promise now and then; the command's own answer shows it, or its deadline.
  process.on('uncaughtException', (error) => console.error(error))
  process.on('unhandledRejection', (error) => console.error(error))
  for await (const line of createInterface({ input: process.stdin })) {
    const command = JSON.parse(line)
    let answer
    try {
      answer = await within(DEADLINE_MS, commands[command.do](command))
    } catch (error) {
      answer = { error: name, message: [...new Set(messages(error))].join('; ') }
    }
    const text = JSON.stringify(answer, (_, value) => (typeof value === 'bigint' ? Number(value) : value))
    process.stdout.write(text + '\n')
  }
  process.exit(0)
}

// Of an error and all that it holds: platformatic's have the causes of each attempt within.
function messages(error) {
  const within = [...(error.errors ?? []), ...(error.cause ? [error.cause] : [])]
  return [error.message, ...within.flatMap(messages)]
}

// What node:tls takes: authority, and the client's own certificate if it has one.
export function tlsOptions(tls) {
  if (!tls) return undefined
  const own = tls.certificate && { cert: readFileSync(tls.certificate, 'utf8'), key: readFileSync(tls.key, 'utf8') }
  return { ca: [readFileSync(tls.ca, 'utf8')], ...own }
}

// Of OAUTHBEARER, which is in a file.
export const tokenOf = (file) => readFileSync(file, 'utf8')

export function within(ms, promise) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${ms} ms`)), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
