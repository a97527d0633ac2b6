// A program that uses @anthropic-ai/claude-agent-sdk as its users do; see agent_sdk_story.py for the story.
import { readFileSync } from "node:fs";
import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";

const [cli, cwd] = process.argv.slice(2);
const manifest = new URL("./node_modules/@anthropic-ai/claude-agent-sdk/package.json", import.meta.url);
const seen = { version: JSON.parse(readFileSync(manifest)).version, asked: [], hooks: [] };

class Prompts {
  #waiting = [];
  #wake = () => {};
  #ended = false;
  say(text) {
    this.#waiting.push({ type: "user", message: { role: "user", content: text }, parent_tool_use_id: null });
    this.#wake();
  }
  end() {
    this.#ended = true;
    this.#wake();
  }
  async *[Symbol.asyncIterator]() {
    for (;;) {
      while (this.#waiting.length) yield this.#waiting.shift();
      if (this.#ended) return;
      await new Promise((resolve) => (this.#wake = resolve));
    }
  }
}

function start(more) {
  const prompts = new Prompts();
  const run = query({ prompt: prompts, options: { pathToClaudeCodeExecutable: cli, cwd, ...more } });
  const answers = async () => {
    const messages = [];
    for (;;) {
      const { value, done } = await run.next();
      if (done) return messages;
      messages.push(value);
      if (value.type === "result") return messages;
    }
  };
  return { prompts, run, answers };
}

const words = (messages) =>
  messages
    .filter((m) => m.type === "assistant")
    .flatMap((m) => m.message.content)
    .filter((b) => b.type === "text")
    .map((b) => b.text)
    .join(" ");

const canUseTool = async (name, input) => {
  seen.asked.push([name, input]);
  const no = JSON.stringify(input).includes("forbidden");
  return no ? { behavior: "deny", message: "no" } : { behavior: "allow", updatedInput: input };
};
const onTool = async (input) => {
  seen.hooks.push(input.hook_event_name);
  return {};
};
const hooks = Object.fromEntries(["PreToolUse", "PostToolUse", "Stop"].map((n) => [n, [{ hooks: [onTool] }]]));

const first = start({ canUseTool, hooks });
first.prompts.say("say hello");
seen.prompt = words(await first.answers());
seen.commands = (await first.run.supportedCommands()).length;
first.prompts.say("please touch allowed");
await first.answers();
first.prompts.say("please touch forbidden");
await first.answers();
await first.run.setModel("sonnet");
first.prompts.say("say hello");
seen.model = (await first.answers()).find((m) => m.type === "assistant").message.model;
first.prompts.end();

const shout = tool("shout", "Says it loudly", { text: z.string() }, async ({ text }) => ({
  content: [{ type: "text", text: text.toUpperCase() }],
}));
const inproc = createSdkMcpServer({ name: "inproc", tools: [shout] });
const second = start({ mcpServers: { inproc }, allowedTools: ["mcp__inproc__shout"] });
second.prompts.say("use shout");
seen.mcp = words(await second.answers());
second.prompts.end();

const third = start({});
third.prompts.say("the long one");
const slow = third.answers();
await new Promise((resolve) => setTimeout(resolve, 1500));
await third.run.interrupt();
seen.interrupted = (await slow).at(-1).subtype;
third.prompts.say("say hello");
const last = (await third.answers()).at(-1);
seen.after = last.result;
third.prompts.end();

const fourth = start({ resume: last.session_id });
fourth.prompts.say("say hello");
const result = (await fourth.answers()).at(-1);
seen.resume = [result.session_id === last.session_id, result.result];
fourth.prompts.end();
console.log(JSON.stringify(seen));
process.exit(0);
