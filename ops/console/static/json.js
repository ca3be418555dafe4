// JSON in lines, character by character as it was written: a number that JavaScript cannot hold is none of a record's.

const INDENT = "  ";
// Structures that are nested deeper stay as they were written, and so does the rest of a text of more lines. Without
// both bounds the indentation of n nested lists takes n * n characters, and each line an element of the layout.
export const MAX_LEVELS = 32;
export const MAX_LINES = 10_000;
const OPENING = new Set(["{", "["]);
const TOKENS = /"(?:[^"\\]|\\.)*"|[^\s"{}[\],:]+|[{}[\],:]/g;

// Return the text in lines; the text itself if it is no object or list of JSON.
export function indented(text) {
  return isStructure(text) ? inLines(text) : text;
}

export function isStructure(text) {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

// Return a structure's text in lines. The text must be JSON.
export function inLines(text) {
  const made = [];
  let lines = 1;
  let depth = 0;
  let before = "";
  let copied = 0; // where a structure begins that is deeper than the bound
  const line = () => {
    lines += 1;
    made.push("\n", INDENT.repeat(depth));
  };
  for (const found of text.matchAll(TOKENS)) {
    const token = found[0];
    const opens = token === "{" || token === "[";
    const closes = token === "}" || token === "]";
    if (depth > MAX_LEVELS) {
      depth += opens - closes;
      if (depth > MAX_LEVELS) continue;
      made.push(text.slice(copied, found.index + 1));
      before = token;
      continue;
    }
    if (lines >= MAX_LINES) {
      made.push(text.slice(found.index));
      break;
    }
    if (closes) depth -= 1;
    if (closes ? !OPENING.has(before) : OPENING.has(before) || before === ",") line();
    if (opens) depth += 1;
    if (depth > MAX_LEVELS) copied = found.index;
    else made.push(token === ":" ? ": " : token);
    before = token;
  }
  return made.join("");
}
