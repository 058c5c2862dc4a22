// The adapter as VS Code's own test client drives it. The environment names the tool, a core and its files.
"use strict";
const assert = require("node:assert");
const { test } = require("node:test");
const { DebugClient } = require("@vscode/debugadapter-testsupport");
const { innermostFrame, isPicture, mapSources, spots } = require("../out/picture.js");

const env = process.env;

test("a core is looked at", async () => {
  const client = new DebugClient(env.OMPD_TOOL, "dap", "ompd", { cwd: __dirname }, true);
  client.defaultTimeout = 120000;
  await client.start();
  try {
    const stopped = client.waitForEvent("stopped");
    client.launchRequest = (args) => client.attachRequest(args); // launch has no counterpart for attach
    // The sequence ends by the request that the capabilities stored by then select, when "initialized" comes.
    await Promise.all([
      client.configurationSequence(),
      client.launch({ target: env.OMPD_CORE, exe: env.OMPD_EXE, sysroot: env.OMPD_SYSROOT, debugDirs: [] }),
    ]);
    const { body } = await stopped;
    assert.equal(body.reason, "exception");
    assert.equal(body.text, "DEADLOCK: threads 0 and 1");
    const { body: { threads } } = await client.threadsRequest();
    assert.equal(threads.length, 3);
    assert.match(threads[0].name, /^OMP 0\/3 lock_cycle\.c:13 · wait_lock second/);
    const { body: { stackFrames } } = await client.stackTraceRequest({ threadId: threads[0].id });
    assert.ok(stackFrames.some((f) => f.name.includes("deposit") && f.line === 13));
    const { body: picture } = await client.customRequest("ompd/picture");
    assert.ok(isPicture(picture));
    const lines = spots(mapSources(picture, { "/src": "/elsewhere" }));
    const waits = lines.find((s) => s.line === 13);
    assert.equal(waits.file, "/elsewhere/lock_cycle.c");
    assert.match(waits.message, /^DEADLOCK: thread 0 of 3 \(LWP \d+\) waits here for lock second/);
    assert.deepEqual([...new Set(lines.map((s) => s.line))].sort((a, b) => a - b), [9, 13, 18, 22]);
  } finally {
    await client.stop(); // disconnects
  }
});

test("the innermost frame is the program's own", () => {
  const guard = { kind: "user", function: "std::mutex::lock()", file: "/usr/include/c++/12/bits/std_mutex.h", line: 100 };
  const bits = { kind: "user", function: "__gthread_mutex_lock", file: "/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h", line: 749 };
  const own = { kind: "user", function: "deposit", file: "/src/lost.cc", line: 43 };
  assert.equal(innermostFrame([bits, guard, own]), own);
  assert.equal(innermostFrame([bits, guard]), bits);
  assert.equal(innermostFrame([{ ...own, line: 0 }]), undefined);
  assert.equal(innermostFrame(undefined), undefined);
});
