#!/usr/bin/env python3
"""Compares the tokens of `headroom serve --tokenizer` with those of the library `tokenizers`.

    serve_tokenizer.py make FOLDER           trains a small tokenizer of each family there
    serve_tokenizer.py compare URL FILE [N]  so many random texts (1000) through both
"""
import http.client
import json
import pathlib
import random
import sys
from urllib.parse import urlparse

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers,
                        pre_tokenizers, processors, trainers)

# Of Llama 3 and of Qwen 2 (their tokenizer.json).
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
WORDS = """time people way water words light house world area place year day night story point city
hand school number group case part fact week work home room book line side kind head power hour game
end law car team minute idea body back level face door health art war party result change reason
it's they're I'll we've don't Café naïve Ünïcode Привет мир 日本語 テキスト 中文 한국어 العربية हिन्दी 🎉 👩‍👩‍👧
cafe\u0301 man\u0303ana 12345 3.14 2026-11-26 __init__ foo(bar) x+=1; <tag> {"a": [1, 2]} https://a.b/c?d=e""".split()
SIGNS = list(" \t\n\r\u00a0\u2003\u3000'\"`.,;:!?-_/\\()[]{}<>|@#$%^&*+=~0123456789") + [
    "\r\n", "\n\n", "   ", "<|end|>", "<s>", "½", "Ⅳ", "٣", "\u200d", "ſ", "İ", "ﬁ", "Å", "\U0001f600"]


def random_text(dice):
    parts = []
    for _ in range(dice.randint(0, 30)):
        kind = dice.randrange(10)
        if kind < 6:
            word = dice.choice(WORDS)
            parts.append(dice.choice(["", " ", " "]) + dice.choice(
                [word, word.upper(), word.capitalize()]))
        elif kind < 9:
            parts.append(dice.choice(SIGNS) * dice.choice([1, 1, 1, 2, 7]))
        else:
            parts.append(chr(dice.choice([dice.randint(32, 0x2FF), dice.randint(0x370, 0x5FF),
                                          dice.randint(0x4E00, 0x9FFF)])))
    return "".join(parts)


def corpus():
    dice = random.Random(3)
    filler = (pathlib.Path(__file__).parents[2] / "sim/server/token_rule.cpp").read_text()
    words = [word for word in filler.split('"') if word.startswith(" ") and word[1:].isalpha()]
    yield from ("".join(dice.choices(words, k=20)) for _ in range(600))
    yield from ("".join(dice.choices(words, k=20))[1:] for _ in range(600))
    yield from (word[1:] for word in words for _ in range(40))
    yield from (random_text(dice) for _ in range(2000))


def byte_level(pre_tokenizer, normalizer=None, **model):
    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=3000, special_tokens=["<s>", "<|end|>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return tokenizer


def split(pattern):
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def sentence_pieces(normalizer, pre_tokenizer):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizer
    # Merges within words, as SentencePiece learns them.
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=3000, show_progress=False, limit_alphabet=300,
        special_tokens=["<unk>", "<s>"] + [f"<0x{byte:02X}>" for byte in range(256)]))
    data = json.loads(tokenizer.to_str())
    data["pre_tokenizer"] = pre_tokenizer and json.loads(pre_tokenizer)
    data["added_tokens"] = [one for one in data["added_tokens"] if not one["content"][1:3] == "0x"]
    return Tokenizer.from_str(json.dumps(data))


def make(folder):
    made = {
        "gpt2": byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False)),
        "prefix_space": byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True)),
        "llama3": byte_level(split(LLAMA3), ignore_merges=True),
        "qwen2": byte_level(split(QWEN2), normalizers.NFC()),
        "digits": byte_level(pre_tokenizers.Sequence([
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False)]), normalizers.NFKC()),
        "llama2": sentence_pieces(normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), None),
        "metaspace": sentence_pieces(None, json.dumps(
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True})),
        "gemma": sentence_pieces(normalizers.Replace(" ", "▁"), json.dumps(
            {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious",
             "invert": False})),
    }
    first = made["llama3"].token_to_id("<s>")
    made["llama3"].post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B",
                                      special_tokens=[("<s>", first)])])
    made["llama2"].post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", made["llama2"].token_to_id("<s>"))])
    made["qwen2"].add_tokens([AddedToken("minute", normalized=True),
                              AddedToken("<mask>", lstrip=True, rstrip=True, normalized=False)])
    for name, tokenizer in made.items():
        tokenizer.save(f"{folder}/{name}.json")


def compare(url, file, texts):
    tokenizer = Tokenizer.from_file(file)
    connection = http.client.HTTPConnection(urlparse(url).hostname, urlparse(url).port)
    dice = random.Random(11)
    tokens = 0
    for number in range(texts):
        text = random_text(dice)
        if number == 0:
            text = "time people " * 20000
        connection.request("POST", "/tokenize", json.dumps({"prompt": text}))
        answer = json.loads(connection.getresponse().read())
        expected = tokenizer.encode(text).ids
        assert answer["tokens"] == expected, (
            file, text[:200], answer["tokens"][:50], [tokenizer.id_to_token(i) for i in expected][:50])
        assert answer["count"] == len(expected)
        tokens += len(expected)
    # Each word of an answer is one token.
    for seed in range(20):
        connection.request("POST", "/v1/completions", json.dumps(
            {"prompt": f"words {seed}", "max_tokens": 20, "ignore_eos": True}))
        text = json.loads(connection.getresponse().read())["choices"][0]["text"]
        assert len(tokenizer.encode(text, add_special_tokens=False).ids) in (20, 21), text
    print(f"{file}: {texts} texts, {tokens} tokens are equal")


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        compare(sys.argv[2], sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else 1000)
