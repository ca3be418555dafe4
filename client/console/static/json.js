// JSON in lines, character by character as it was written: a number that JavaScript cannot hold is none of a record's.

const INDENT = "  ";
const DEEPEST = 100; // what is nested deeper is shown as it was written: its indents would take more than the browser has

// The text itself if it is no object or list of JSON, or nested too deep.
export function indented(text) {
  if (!isStructure(text)) return text;
  let made = "";
  let depth = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[^\s"{}[\],:]+|[{}[\],:]/g)) {
    if (token === "{" || token === "[") {
      depth += 1;
      if (depth > DEEPEST) return text;
      made += token + line(depth);
    } else if (token === "}" || token === "]") {
      depth -= 1;
      const empty = made.endsWith("{" + line(depth + 1)) || made.endsWith("[" + line(depth + 1));
      made = empty ? made.trimEnd() + token : made + line(depth) + token;
    } else if (token === ",") made += token + line(depth);
    else if (token === ":") made += ": ";
    else made += token;
  }
  return made;
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

function line(depth) {
  return `\n${INDENT.repeat(depth)}`;
}
