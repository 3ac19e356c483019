"""Drives the scripted server with the vendor's own client. Arguments: base URL, API key."""

import sys

import anthropic

url, key = sys.argv[1:]
MODEL = "claude-opus-5-5"
TOOLS = [{"name": "Read", "description": "Reads.", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}]
THINKING = {"type": "adaptive", "display": "summarized"}


def client_with(**options):
    return anthropic.Anthropic(base_url=url, **{"api_key": key, "max_retries": 0, **options})


client = client_with()
question = [{"role": "user", "content": "Say hello."}]


def create(**options):
    return client.messages.create(**{"model": MODEL, "max_tokens": 100, "messages": question, **options})


def expect(error, call, text=""):
    try:
        call()
    except error as raised:
        assert type(raised) is error, f"expected {error}, got {type(raised)}"
        assert text in str(raised), f"expected {text!r} in {raised}"
        assert raised.request_id, "errors carry the request id"
        return raised
    raise AssertionError(f"expected {error}")


def whole_message():
    message = create()
    assert message.content[0].text == "Hello!", message
    assert message.stop_reason == "end_turn"
    assert message.id == "msg_01" and message.model == MODEL
    assert message.usage.input_tokens > 0 and message.usage.output_tokens > 0
    assert message._request_id


def stream_with_tool_round_trip():
    seen = []
    options = {"model": MODEL, "max_tokens": 1000, "tools": TOOLS, "thinking": THINKING}
    with client.messages.stream(messages=question, **options) as stream:
        for event in stream:
            seen.append(event.type)
        first = stream.get_final_message()
    assert [block.type for block in first.content] == ["thinking", "redacted_thinking", "text", "tool_use"], first
    assert first.content[0].thinking == "Let me think." and first.content[0].signature
    assert first.content[2].text == "Reading the file."
    assert first.content[3].input == {"path": "/tmp/ä", "depth": [1, {"x": None}]}
    assert first.stop_reason == "tool_use"
    assert "thinking" in seen and "text" in seen and "input_json" in seen, seen
    history = question + [
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": first.content[3].id, "content": "text"}]},
    ]
    second = client.messages.create(messages=history, **options)
    assert second.content[-1].text == "Done."
    history[1]["content"] = history[1]["content"][1:]
    expect(anthropic.BadRequestError, lambda: client.messages.create(messages=history, **options))


def server_tool():
    message = create(tools=[{"type": "web_search_20260318", "name": "web_search"}])
    assert [block.type for block in message.content] == ["server_tool_use", "web_search_tool_result", "text"], message
    assert message.content[1].content[0].url == "https://example.com"


def refusal_and_faults():
    refused = create()
    assert refused.stop_reason == "refusal" and refused.stop_details.category == "cyber"
    with client.messages.stream(model=MODEL, max_tokens=10, messages=question) as stream:
        try:
            stream.get_final_message()
        except anthropic.APIStatusError as raised:
            assert "Overloaded" in str(raised), raised
        else:
            raise AssertionError("an error event raises")
    with client.messages.stream(model=MODEL, max_tokens=10, messages=question) as stream:
        assert stream.get_final_text() == "pings and strangers are ignored"


def counting_and_models():
    assert client.messages.count_tokens(model=MODEL, messages=question, tools=TOOLS).input_tokens > 0
    listed = [model.id for model in client.models.list(limit=5)]
    assert MODEL in listed and "claude-haiku-4-5-20251001" in listed and len(listed) == len(set(listed)), listed
    model = client.models.retrieve(MODEL)
    assert model.max_tokens == 128_000 and model.max_input_tokens == 1_000_000
    assert model.capabilities.thinking.types.adaptive.supported
    assert not model.capabilities.thinking.types.disabled.supported
    assert model.capabilities.effort.xhigh.supported and model.line == "opus"
    expect(anthropic.NotFoundError, lambda: client.models.retrieve("claude-0"))


def errors():
    empty = [{"role": "user", "content": ""}]
    expect(anthropic.BadRequestError, lambda: create(messages=empty), "non-empty content")
    expect(anthropic.NotFoundError, lambda: create(model="claude-0"), "model: claude-0")
    stranger = client_with(api_key="wrong")
    expect(anthropic.AuthenticationError, lambda: stranger.messages.create(model=MODEL, max_tokens=1, messages=question))
    limited = expect(anthropic.RateLimitError, create, "slow down")
    assert limited.response.headers["retry-after"] == "0"
    expect(anthropic.InternalServerError, create, "broken")
    expect(anthropic._exceptions.OverloadedError, create, "Overloaded")
    retrying = client_with(max_retries=1)
    message = retrying.messages.create(model=MODEL, max_tokens=10, messages=question)
    assert message.content[0].text == "after a retry"


whole_message()
stream_with_tool_round_trip()
server_tool()
refusal_and_faults()
counting_and_models()
errors()
