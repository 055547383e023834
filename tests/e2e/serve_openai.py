#!/usr/bin/env python3
"""OpenAI's own Python package talks to `headroom serve`: serve_openai.py URL KEY"""
import asyncio
import sys

import openai

URL, KEY = sys.argv[1:]
MODEL = "llama-3.1-8b"


def check_answers():
    client = openai.OpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0)
    assert [model.id for model in client.models.list()] == [MODEL]
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
    chat = client.chat.completions.create(model=MODEL, messages=messages, max_completion_tokens=9, n=2,
                                          extra_body={"ignore_eos": True}, temperature=0.3, stop=["x"])
    assert [len(choice.message.content.split()) for choice in chat.choices] == [9, 9]
    assert chat.usage.completion_tokens == 18 and chat.choices[0].finish_reason == "length"

    text, usage, roles = "", None, []
    for event in client.chat.completions.create(
            model=MODEL, messages=messages, max_tokens=12, stream=True,
            stream_options={"include_usage": True}, extra_body={"ignore_eos": True}):
        for choice in event.choices:
            text += choice.delta.content or ""
            roles.append(choice.delta.role)
        usage = event.usage or usage
    assert len(text.split()) == 12 == usage.completion_tokens, (text, usage)
    assert roles[0] == "assistant" and set(roles[1:]) == {None}, roles

    completion = client.completions.create(model=MODEL, prompt=["a b", "c d e"], max_tokens=4,
                                           extra_body={"ignore_eos": True})
    assert [choice.index for choice in completion.choices] == [0, 1]
    assert completion.usage.prompt_tokens == 5


def check_errors():
    client = openai.OpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0)

    def refused(kind, **fields):
        try:
            client.completions.create(**{"model": MODEL, "prompt": "x", **fields})
        except kind as error:
            return error.body
        raise AssertionError(f"not refused: {fields}")

    assert refused(openai.NotFoundError, model="gpt-9")["param"] == "model"
    assert refused(openai.BadRequestError, max_tokens=0)["param"] == "max_tokens"
    assert refused(openai.BadRequestError, prompt=[7] * 20000)["type"] == "BadRequestError"
    client.api_key = "another"
    refused(openai.AuthenticationError)


async def check_many():
    client = openai.AsyncOpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0)

    async def one(number):
        stream = await client.completions.create(
            model=MODEL, prompt=f"request {number}", max_tokens=20 + number % 7, stream=True,
            extra_body={"ignore_eos": True})
        pieces = [event.choices[0].text async for event in stream]
        assert len(pieces) == 20 + number % 7, len(pieces)

    await asyncio.gather(*(one(number) for number in range(100)))


check_answers()
check_errors()
asyncio.run(check_many())
print("openai", openai.__version__)
