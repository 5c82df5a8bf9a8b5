// SPDX-License-Identifier: Apache-2.0
// client.mjs URL EMBEDDINGS-URL URL-WITH-KEYS MODULES: the official client of the OpenAI API against `zrt serve`.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [url, embeddingsUrl, guardedUrl, modules] = process.argv.slice(2);
const load = createRequire(modules + "/");
const OpenAI = load("openai").default;
const { zodFunction, zodResponseFormat } = load("openai/helpers/zod");
const { z } = load("zod");
const client = new OpenAI({ baseURL: url + "/v1", apiKey: "any" });
const asked = { model: "bard", messages: [{ role: "user", content: "Who is there?" }], max_tokens: 8, seed: 1 };
const now = { type: "function", function: { name: "now", parameters: { type: "object", properties: {}, additionalProperties: false } } };

const guarded = (apiKey, maxRetries = 0) => new OpenAI({ baseURL: guardedUrl + "/v1", apiKey, maxRetries });

// Streams of one key that run and wait until they are left.
async function crowd(apiKey, count) {
  const streams = [];
  for (let i = 0; i < count; ++i) {
    const stream = guarded(apiKey).completions.create({ model: "bard", prompt: "a", max_tokens: 1000, stream: true });
    streams.push(stream);
    if (i === 0) await stream;
  }
  await new Promise(done => setTimeout(done, 200));
  return () => Promise.all(streams.map(async stream => (await stream).controller.abort()));
}

// Refused at once; with retries it comes through once the crowd has left.
async function waitsFor(crowdOf, size, key, kind, status) {
  const leave = await crowd(crowdOf, size);
  await assert.rejects(guarded(key).chat.completions.create(asked), error => error instanceof kind && error.status === status &&
    Number(error.headers.get("retry-after")) >= 1);
  const answer = guarded(key, 8).chat.completions.create(asked);
  await leave();
  assert.equal((await answer).usage.completion_tokens, 8);
}

const cases = {
  async "needs a key"() {
    await assert.rejects(guarded("wrong-key-0123456789").models.list(), OpenAI.AuthenticationError);
    await assert.rejects(guarded("wrong-key-0123456789").chat.completions.create(asked), OpenAI.AuthenticationError);
    assert.equal((await guarded("alice-key-0123456789").models.list()).data[0].id, "bard");
    assert.equal((await guarded("alice-key-0123456789").chat.completions.create(asked)).usage.completion_tokens, 8);
  },
  async "comes again when the queue was full"() {
    await waitsFor("alice-key-0123456789", 4, "alice-key-0123456789", OpenAI.InternalServerError, 503);
  },
  async "comes again when its tenant has enough"() {
    await waitsFor("bob-key-0123456789", 2, "bob-key-0123456789", OpenAI.RateLimitError, 429);
  },
  async "lists models"() {
    const list = [];
    for await (const model of client.models.list()) list.push(model.id);
    assert.deepEqual(list, ["bard"]);
    assert.equal((await client.models.retrieve("bard")).id, "bard");
    await assert.rejects(client.models.retrieve("other"), OpenAI.NotFoundError);
  },
  async "chats"() {
    const answer = await client.chat.completions.create(asked);
    assert.equal(answer.choices[0].message.role, "assistant");
    assert.equal(answer.usage.completion_tokens, 8);
    assert.match(answer._request_id, /^req_/);
  },
  async "streams what it says whole"() {
    const whole = (await client.chat.completions.create(asked)).choices[0].message.content;
    let said = "", last;
    for await (const chunk of await client.chat.completions.create({ ...asked, stream: true, stream_options: { include_usage: true } })) {
      said += chunk.choices[0]?.delta.content ?? "";
      last = chunk;
    }
    assert.equal(said, whole);
    assert.equal(last.usage.completion_tokens, 8);
  },
  async "streams through the helper"() {
    const stream = client.chat.completions.stream(asked);
    const message = await stream.finalMessage();
    assert.equal(await stream.finalContent(), message.content);
    assert.equal((await stream.finalChatCompletion()).choices[0].finish_reason, "length");
  },
  async "names the client's faults"() {
    const wrong = client.chat.completions.create({ ...asked, temperature: 3 }, { maxRetries: 0 });
    await assert.rejects(wrong, error => error instanceof OpenAI.BadRequestError && error.param === "temperature");
  },
  async "calls tools"() {
    const body = { ...asked, max_tokens: 200, tools: [now], tool_choice: "required", parallel_tool_calls: false };
    const answer = await client.chat.completions.create(body);
    assert.equal(answer.choices[0].finish_reason, "tool_calls");
    assert.equal(answer.choices[0].message.tool_calls[0].function.name, "now");
    const stream = client.chat.completions.stream(body);
    const call = (await stream.finalMessage()).tool_calls[0];
    assert.equal(call.type, "function");
    assert.deepEqual(JSON.parse(call.function.arguments), {});
  },
  async "runs tools"() {
    let called = 0;
    const runner = client.chat.completions.runTools(
      { ...asked, max_tokens: 200, temperature: 0.2, tool_choice: { type: "function", function: { name: "now" } },
        tools: [{ type: "function", function: { ...now.function, function: () => (++called, "noon"), parse: JSON.parse } }] },
      { maxChatCompletions: 1 });
    await runner.done();
    assert.equal(called, 1);
  },
  async "parses answers that match a schema"() {
    const schema = { type: "object", properties: { yes: { type: "boolean" } }, required: ["yes"], additionalProperties: false };
    const answer = await client.chat.completions.parse({ ...asked, max_tokens: 100,
      response_format: { type: "json_schema", json_schema: { name: "answer", strict: true, schema } } });
    assert.equal(typeof JSON.parse(answer.choices[0].message.content).yes, "boolean");
  },
  async "parses answers by a schema of zod"() {
    const Answer = z.object({ yes: z.boolean(), who: z.enum(["Romeo", "Juliet"]) });
    const body = { ...asked, max_tokens: 200, temperature: 0.5, response_format: zodResponseFormat(Answer, "answer") };
    const parsed = (await client.chat.completions.parse(body)).choices[0].message.parsed;
    assert.deepEqual(Answer.parse(parsed), parsed);
    const streamed = (await client.chat.completions.stream(body).finalChatCompletion()).choices[0].message.parsed;
    assert.deepEqual(streamed, parsed);
    const tools = [zodFunction({ name: "say", parameters: Answer })];
    const call = { ...asked, max_tokens: 200, temperature: 0.5, tools, tool_choice: "required", parallel_tool_calls: false };
    const told = (await client.chat.completions.parse(call)).choices[0].message.tool_calls[0].function.parsed_arguments;
    assert.deepEqual(Answer.parse(told), told);
    // An answer that is cut is no answer of the schema.
    await assert.rejects(client.chat.completions.parse({ ...body, max_tokens: 2 }), OpenAI.LengthFinishReasonError);
  },
  async "parses kinds of numbers and texts by schemas of zod"() {
    const kinds = { int: z.int(), count: z.number().int().min(-5).max(17), positive: z.number().positive(), nonnegative: z.number().nonnegative(),
      negative: z.number().negative(), fraction: z.number().min(0).max(1), uuid: z.uuid(), email: z.email(), moment: z.iso.datetime(),
      offset: z.iso.datetime({ offset: true }), date: z.iso.date(), time: z.iso.time(), duration: z.iso.duration(), address: z.ipv4(),
      url: z.url(), code: z.string().regex(/^[A-Z]{2}\d{3}$/), word: z.string().min(2).max(8).lowercase(), few: z.array(z.int()).min(1).max(2) };
    const whole = { ...asked, max_tokens: 240, temperature: 0.5 };
    for (const [name, kind] of Object.entries(kinds)) {
      const Answer = z.object({ value: kind });
      for (let seed = 1; seed <= 3; ++seed) {
        const body = { ...whole, seed, response_format: zodResponseFormat(Answer, "answer") };
        const answer = await client.chat.completions.create(body);
        // A text without a limit may be cut by the limit of tokens: what was read so far is its beginning.
        if (answer.choices[0].finish_reason === "length") continue;
        const parsed = (await client.chat.completions.parse(body)).choices[0].message.parsed;
        assert.deepEqual(Answer.parse(parsed), parsed, name);
      }
    }
    const Count = z.object({ count: z.number().int() });
    const tools = [zodFunction({ name: "count", parameters: Count })];
    const call = { ...whole, tools, tool_choice: "required", parallel_tool_calls: false };
    const told = (await client.chat.completions.parse(call)).choices[0].message.tool_calls[0].function.parsed_arguments;
    assert.deepEqual(Count.parse(told), told);
    // With auto the schema of a strict tool is checked too.
    assert.equal((await client.chat.completions.create({ ...asked, tools })).usage.completion_tokens, 8);
  },
  async "leaves a stream"() {
    const stream = await client.chat.completions.create({ ...asked, max_tokens: 200, stream: true });
    for await (const chunk of stream) if (chunk.choices[0].delta.content) break;
    for (let left = 200; left > 0; --left) {
      const figures = await (await fetch(url + "/metrics")).text();
      if (/^zrt_num_requests_running\{[^}]*\} 0$/m.test(figures)) return;
      await new Promise(done => setTimeout(done, 20));
    }
    assert.fail("the request still runs");
  },
  async "completes"() {
    const answer = await client.completions.create({ model: "bard", prompt: "ROMEO:\n", max_tokens: 4, logprobs: 2 });
    assert.equal(answer.choices[0].logprobs.tokens.length, 4);
  },
  async "scores a prompt"() {
    const body = { model: "bard", prompt: [1, 20, 30, 40, 50], max_tokens: 0, echo: true, logprobs: 2 };
    const { text, logprobs } = (await client.completions.create(body)).choices[0];
    assert.equal(logprobs.tokens.length, 5);
    assert.equal(logprobs.token_logprobs[0], null);
    assert.equal(logprobs.top_logprobs[0], null);
    assert(logprobs.token_logprobs.slice(1).every(one => one < 0));
    const stream = await client.completions.create({ ...body, stream: true });
    let whole = "";
    const streamed = [];
    for await (const { choices: [part] } of stream) {
      whole += part.text;
      streamed.push(...(part.logprobs?.token_logprobs ?? []));
    }
    assert.equal(whole, text);
    assert.deepEqual(streamed, logprobs.token_logprobs);
  },
  async "embeds"() {
    const other = new OpenAI({ baseURL: embeddingsUrl + "/v1", apiKey: "any" });
    const packed = await other.embeddings.create({ model: "bard", input: ["To be", "or not"] });
    const plain = await other.embeddings.create({ model: "bard", input: ["To be", "or not"], encoding_format: "float" });
    packed.data.forEach((one, i) => assert.deepEqual(Array.from(one.embedding), plain.data[i].embedding.map(Math.fround)));
  },
};

let failed = 0;
for (const [name, run] of Object.entries(cases)) {
  try {
    await run();
  } catch (error) {
    ++failed;
    console.log(`FAILED ${name}: ${error.stack}`);
  }
}
console.log(`${Object.keys(cases).length - failed} of ${Object.keys(cases).length} cases of the client passed`);
process.exit(failed ? 1 : 0);
