// The official TypeScript SDKs, v1 and v2, drive the real binary over stdio and HTTP, in every lifecycle they speak:
// tools, progress, cancel, roots and questions to the person.
//
//   node typescript_sdk.mjs BINARY
//
// scripts/test-clients runs a copy of this file beside node_modules, where Node finds the imports.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";

const binary = resolve(process.argv[2]);
// Not below /tmp, because the sandbox gives every session its own /tmp.
const scratch = realpathSync(mkdtempSync(join(import.meta.dirname, "typescript-sdk-")));
const [project, root] = ["project", "root"].map((name) => join(scratch, name));
mkdirSync(project);
mkdirSync(root);
const ask = ["--ask", "touch"];
const info = { name: "typescript-sdk", version: "1" };

const capabilities = { elicitation: { form: {} }, roots: {} };

const sdks = [
  {
    name: "v1",
    hasRoots: true,
    client: () => new ClientV1(info, { capabilities }),
    onElicit: (client, answer) => client.setRequestHandler(ElicitRequestSchema, answer),
    onRoots: (client, answer) => client.setRequestHandler(ListRootsRequestSchema, answer),
    Stdio: StdioV1,
    Http: HttpV1,
    params: (name, args) => [{ name, arguments: args }, undefined],
  },
  ...["legacy", "auto", { pin: "2026-07-28" }].map((mode) => ({
    name: `v2 ${mode.pin ?? mode}`,
    hasRoots: mode === "legacy",
    client: () => new ClientV2(info, { capabilities, versionNegotiation: { mode } }),
    onElicit: (client, answer) => client.setRequestHandler("elicitation/create", answer),
    onRoots: (client, answer) => client.setRequestHandler("roots/list", answer),
    Stdio: StdioV2,
    Http: HttpV2,
    params: (name, args) => [{ name, arguments: args }],
  })),
];

function running(word) {
  return readdirSync("/proc").some((pid) => {
    if (!/^\d+$/.test(pid) || pid === String(process.pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(word);
    } catch {
      return false;
    }
  });
}

async function until(what, condition) {
  for (const end = Date.now() + 20_000; !condition(); await sleep(20)) {
    assert.ok(Date.now() < end, `waited in vain: ${what}`);
  }
}

async function exercise(sdk, transport) {
  const client = sdk.client();
  const questions = [];
  let decision = "deny";
  sdk.onElicit(client, ({ params }) => {
    questions.push(params.message);
    return { action: "accept", content: { decision } };
  });
  sdk.onRoots(client, () => ({ roots: [{ uri: `file://${root}` }] }));
  await client.connect(transport);
  const call = (args, options) => client.callTool(...sdk.params("bash", args), options);
  const text = async (command) => (await call({ command })).content[0].text;
  const { tools } = await client.listTools();
  assert.deepEqual(tools.find((tool) => tool.name === "bash").inputSchema.required, ["command"]);
  assert.equal(await text("echo hello"), "exit_code: 0\n\nstdout:\nhello\n");
  assert.equal((await call({ command: "" })).isError, true);
  await text("export STATE=kept; cd /");
  assert.equal(await text("echo $STATE $PWD"), "exit_code: 0\n\nstdout:\nkept /\n");
  const home = sdk.hasRoots ? root : project;
  await text(`cd ${home}; unset STATE`);
  const { content } = await client.callTool(...sdk.params("bash", { command: "pwd", session: `new-${questions.length}-${Date.now()}` }));
  assert.equal(content[0].text, `exit_code: 0\n\nstdout:\n${home}\n`);

  assert.equal((await call({ command: "touch mark" })).isError, true);
  decision = "once";
  assert.equal(await text("touch mark"), "exit_code: 0\n");
  assert.equal(questions.length, 2);
  assert.ok(questions.every((question) => question.includes("touch mark")));

  const seen = [];
  await call({ command: "for i in 1 2 3; do echo line $i; sleep 0.1; done" }, { onprogress: (note) => seen.push(note.message) });
  // On a busy machine one notification may hold several lines.
  assert.deepEqual(seen.flatMap((message) => message.split("\n")), ["line 1", "line 2", "line 3"]);

  const word = `${Math.floor(Math.random() * 1e6) + 1e6}.${process.pid}`;
  const abort = new AbortController();
  const cancelled = assert.rejects(call({ command: `sleep ${word} & sleep ${word}` }, { signal: abort.signal }));
  await until("the command runs", () => running(word));
  abort.abort("enough");
  await cancelled;
  await until("a cancelled command ends", () => !running(word));
  assert.equal(await text("echo on"), "exit_code: 0\n\nstdout:\non\n");
  await client.close();
}

async function serve() {
  const server = spawn(binary, ["--transport", "http", "--listen", "127.0.0.1:0", "--token", "secret", ...ask], {
    cwd: project,
    stdio: ["ignore", "ignore", "pipe"],
  });
  for await (const chunk of server.stderr) {
    const found = String(chunk).match(/http:\/\/\S+\/mcp/);
    if (found) return { url: new URL(found[0]), end: () => server.kill() };
  }
  throw new Error("the server did not start");
}

const { url, end } = await serve();
try {
  for (const sdk of sdks) {
    await exercise(sdk, new sdk.Stdio({ command: binary, args: ["--log-level", "error", ...ask], cwd: project, stderr: "inherit" }));
    console.log(`typescript sdk ${sdk.name}, stdio: ok`);
    const requestInit = { headers: { Authorization: "Bearer secret" } };
    await exercise(sdk, new sdk.Http(url, { requestInit }));
    console.log(`typescript sdk ${sdk.name}, http: ok`);
  }
} finally {
  end();
  rmSync(scratch, { recursive: true });
}
