// The extension in the real editor: code-server in a headless browser. The environment names the tool, a core and its files,
// the browser, code-server, and where screenshots go.
"use strict";
const assert = require("node:assert");
const cp = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { test } = require("node:test");
const puppeteer = require("puppeteer-core");

const env = process.env;
const vsix = path.join(__dirname, "..", "ompd-inspect.vsix");
const patience = Number(env.OMPD_PATIENCE || 180000); // for what never comes, ms

/** prepare makes a folder with a launch.json of one configuration, and the editor's own directories. */
function prepare(dir, configuration) {
  const folder = path.join(dir, "work"), data = path.join(dir, "data"), extensions = path.join(dir, "extensions");
  fs.mkdirSync(path.join(folder, ".vscode"), { recursive: true });
  fs.mkdirSync(path.join(data, "User"), { recursive: true });
  fs.mkdirSync(extensions);
  fs.mkdirSync(path.join(data, "Machine")); // what a machine runs is its own to say
  fs.writeFileSync(path.join(data, "Machine", "settings.json"), JSON.stringify({ "ompd.command": env.OMPD_TOOL }));
  fs.copyFileSync(path.join(env.OMPD_SOURCES, "lock_cycle.c"), path.join(folder, "lock_cycle.c"));
  fs.writeFileSync(path.join(folder, ".vscode", "launch.json"), JSON.stringify({ version: "0.2.0", configurations: [configuration] }));
  fs.writeFileSync(path.join(data, "User", "settings.json"), JSON.stringify({
    "security.workspace.trust.enabled": false, "workbench.startupEditor": "none",
    "telemetry.telemetryLevel": "off", "extensions.autoUpdate": false, "extensions.autoCheckUpdates": false, "update.mode": "none",
    "debug.openDebug": "openOnDebugBreak", "files.autoSave": "off",
  }));
  return { folder, flags: ["--user-data-dir", data, "--extensions-dir", extensions, "--disable-telemetry", "--disable-update-check"] };
}

/** serve starts code-server, and returns its address when it says that it listens. */
function serve(flags) {
  const server = cp.spawn(env.OMPD_CODE_SERVER, ["--auth", "none", "--bind-addr", "127.0.0.1:0", ...flags], { detached: true });
  let said = "";
  const address = new Promise((resolve, reject) => {
    server.on("exit", (status) => reject(new Error(`code-server ended with ${status}: ${said}`)));
    server.on("error", reject);
    for (const out of [server.stdout, server.stderr]) {
      out.on("data", (b) => {
        said += b;
        const found = /listening on (http:\/\/[^\s/]+)/.exec(said);
        if (found) resolve(found[1]);
      });
    }
  });
  return { server, address };
}

/** shows waits until the page shows a text. */
const shows = (page, text) => page.waitForFunction(
  (t) => (document.body.innerText + document.body.textContent).replace(/\s+/g, " ").includes(t), { timeout: patience }, text,
).catch((err) => { throw new Error(`the page does not show ${text}`, { cause: err }); });

/** order runs a command of the editor by its name. */
async function order(page, name) {
  await page.keyboard.press("F1");
  await page.waitForSelector(".quick-input-widget input", { visible: true, timeout: patience });
  await page.keyboard.type(name);
  await page.waitForFunction((n) => document.querySelector(".quick-input-list .monaco-list-row.focused")?.innerText.includes(n), { timeout: patience }, name);
  await page.keyboard.press("Enter");
}

/** debug starts the debugging. While the editor is not ready, the key only opens the view: it is pressed again. */
async function debug(page) {
  const end = Date.now() + patience;
  for (let begun; !begun && Date.now() < end;) {
    await page.keyboard.press("F5");
    begun = await page.waitForSelector(".statusbar.debugging, .debug-toolbar", { timeout: 10000 }).catch(() => undefined);
  }
}

/** shot keeps a screenshot, to be looked at. */
const shot = (page, name) => page.screenshot({ path: path.join(env.OMPD_KEEP || os.tmpdir(), `vscode-${name}.png`) });

/** inEditor debugs by a configuration, and looks at what is the same in all. */
async function inEditor(name, configuration, look) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "ompd-editor-"));
  const { folder, flags } = prepare(dir, configuration);
  cp.execFileSync(env.OMPD_CODE_SERVER, [...flags, "--install-extension", vsix], { stdio: "pipe" });
  const { server, address } = serve(flags);
  let browser;
  try {
    browser = await puppeteer.launch({
      executablePath: env.OMPD_BROWSER, headless: true, defaultViewport: { width: 1400, height: 900 }, protocolTimeout: patience,
      args: [
        "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
      ],
    });
    const page = await browser.newPage();
    await page.goto(`${await address}/?folder=${encodeURIComponent(folder)}`, { timeout: patience });
    await page.waitForSelector(".monaco-workbench .activitybar", { timeout: patience });
    await shows(page, "lock_cycle.c");
    await page.waitForSelector('.activitybar [aria-label^="OpenMP"]', { timeout: patience }); // the extension is known
    await debug(page);
    await shows(page, "OMP 0/3 lock_cycle.c:13 · wait_lock second"); // the threads
    await shows(page, "deposit"); // the stack
    // The opened source takes the focus: what is typed before goes into it.
    await page.waitForSelector(".codicon-debug-stackframe, .codicon-debug-stackframe-focused", { timeout: patience });
    await look(page);
    await shot(page, `${name}-debug`);
    await order(page, "View: Show OpenMP");
    await shows(page, "DEADLOCK 2 threads wait for each other");
    await shows(page, "parallel lock_cycle.c:30");
    await shows(page, "implicit task");
    await shot(page, `${name}-trees`);
    await order(page, "Problems: Focus on Problems View");
    await shows(page, "waits here for lock second");
    await shot(page, `${name}-problems`);
    await order(page, "OpenMP: Show the report");
    await report(page);
    await shot(page, `${name}-report`);
  } catch (err) {
    const pages = browser ? await browser.pages() : [];
    if (pages.length) await shot(pages[pages.length - 1], `${name}-failed`);
    throw err;
  } finally {
    await browser?.close();
    server.removeAllListeners("exit");
    try { process.kill(-server.pid, "SIGTERM"); } catch { /* it has ended */ }
    fs.rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

const skip = !(env.OMPD_CODE_SERVER && env.OMPD_BROWSER) && "code-server and a browser are needed";
/** why it stopped is what our own adapter says */
const why = async (page) => {
  await shows(page, "Exception has occurred: deadlock");
  await shows(page, "2 threads wait for each other and can never proceed");
};

test("a core in the editor", { skip }, () => inEditor("core", {
  type: "ompd", request: "attach", name: "core", target: env.OMPD_CORE, exe: env.OMPD_EXE, sysroot: env.OMPD_SYSROOT, debugDirs: [],
  sourceMap: { "/src": "${workspaceFolder}" },
}, why));

test("a running process in the editor", { skip: skip || !env.OMPD_PROCESS && "a process is needed" }, () => inEditor("process", {
  type: "ompd", request: "attach", name: "process", target: env.OMPD_PROCESS, debugDirs: [],
}, why));

test("a process in gdb behind the proxy", { skip: skip || !env.OMPD_GDB && "a gdb that is an adapter is needed" }, () => inEditor("gdb", {
  type: "ompd", request: "attach", name: "gdb", adapter: [env.OMPD_GDB, "-nx", "-q", "-i", "dap"],
  pid: Number(env.OMPD_PROCESS), program: env.OMPD_PROCESS_EXE,
}, async () => {}));

/** report waits until a frame within the editor shows the page of the core. */
async function report(page) {
  const end = Date.now() + patience;
  while (Date.now() < end) {
    for (const frame of page.frames()) {
      const text = await frame.evaluate(() => document.body?.innerText ?? "").catch(() => "");
      if (text.includes("What is wrong") && text.includes("acquired it with omp_set_lock in withdraw")) return;
    }
    await new Promise((r) => setTimeout(r, 200));
  }
  assert.fail("the report is not shown");
}
