#!/usr/bin/env bash
# `headroom serve --tokenizer`: prompts are cut as the library `tokenizers` cuts them. Skipped where
# scripts/serve_clients.sh has not installed it.
source "$(dirname "${BASH_SOURCE[0]}")/lib_serve.sh"

# wrong TEXT JSON: such a file is refused with TEXT.
wrong() {
  echo "$2" >wrong.json
  expect_error "$1" "$HEADROOM" serve demo --tokenizer wrong.json
}
expect_error 'none.json: cannot read' "$HEADROOM" serve demo --tokenizer none.json
wrong 'not valid JSON' '{"model": {"type": "BPE", "vocab": {"a": 0'
wrong 'expected a tokenizer.json' '[]'
wrong 'expected BPE' '{"model": {"type": "Unigram", "vocab": [["a", -1]]}}'
wrong '/model/vocab' '{"model": {"type": "BPE", "vocab": {}, "merges": []}}'
wrong 'expected a token id' '{"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}}'
wrong '/model/merges/0' '{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}'
model='"model": {"type": "BPE", "vocab": {"z": 0}, "merges": []}'
wrong 'expected ByteLevel, Split' "{$model, \"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}}"
wrong 'not a regular expression' "{$model, \"pre_tokenizer\": {\"type\": \"Split\",
  \"pattern\": {\"Regex\": \"(\"}, \"behavior\": \"Isolated\"}}"
wrong 'expected at least 8' "{$model}"

python="${HEADROOM_CLIENTS:-$HOME/.cache/headroom/clients}/openai/bin/python"
"$python" -c 'import tokenizers' 2>/dev/null || {
  echo 'skipped: the library tokenizers is not installed (scripts/serve_clients.sh)'
  exit 77
}

mkdir made
PYTHONHASHSEED=0 "$python" -B "$HEADROOM_SOURCE_DIR/tests/e2e/serve_tokenizer.py" make made
for file in made/*.json; do
  serve demo --time-scale 100 --tokenizer "$file"
  "$python" -B "$HEADROOM_SOURCE_DIR/tests/e2e/serve_tokenizer.py" compare "$url" "$file" 500
  ends 0
done
