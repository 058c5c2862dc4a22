import * as cp from "node:child_process";
import * as util from "node:util";
import * as vscode from "vscode";
import { isPicture, mapSources, Picture, spots } from "./picture";
import { Follower } from "./follower";
import { regions, tasks, Tree, verdicts } from "./trees";

const run = util.promisify(cp.execFile);

/** maxOutput is the limit of a command's output, in bytes. */
const maxOutput = 64 << 20;

/** command returns the path of the tool. */
const command = (): string => vscode.workspace.getConfiguration("ompd").get<string>("command") || "ompd-inspect";

/** runTool runs the tool and returns its output. It throws the tool's error text. */
async function runTool(...args: string[]): Promise<string> {
  try {
    return (await run(command(), args, { maxBuffer: maxOutput })).stdout;
  } catch (err) {
    const { stderr, code } = err as { stderr?: string; code?: string };
    if (code === "ENOENT") throw new Error(`${command()} not found: set "ompd.command"`);
    throw new Error(stderr?.trim() || String(err));
  }
}

/** Shown is the content of the views. */
class Shown {
  private readonly trees = { verdicts: new Tree(verdicts), regions: new Tree(regions), tasks: new Tree(tasks) };
  private readonly lines = vscode.languages.createDiagnosticCollection("ompd");
  picture: Picture | undefined;
  session: vscode.DebugSession | undefined;

  constructor(context: vscode.ExtensionContext) {
    for (const [name, tree] of Object.entries(this.trees)) {
      context.subscriptions.push(vscode.window.createTreeView(`ompd.${name}`, { treeDataProvider: tree }));
    }
    context.subscriptions.push(this.lines);
  }

  /** show displays the picture of a session in the trees, and its verdicts as problems. */
  show(session: vscode.DebugSession | undefined, picture: Picture | undefined): void {
    this.session = session;
    this.picture = picture;
    for (const tree of Object.values(this.trees)) tree.show(picture);
    void vscode.commands.executeCommand("setContext", "ompd.picture", picture !== undefined);
    this.lines.clear();
    const byFile = new Map<string, vscode.Diagnostic[]>();
    for (const s of picture ? spots(picture) : []) {
      const severity = s.severity === "hang" || s.severity === "crash" ? vscode.DiagnosticSeverity.Error
        : s.severity === "warning" ? vscode.DiagnosticSeverity.Warning : vscode.DiagnosticSeverity.Information;
      const d = new vscode.Diagnostic(new vscode.Range(s.line - 1, 0, s.line - 1, 200), s.message, severity);
      d.source = "OpenMP";
      byFile.set(s.file, [...(byFile.get(s.file) ?? []), d]);
    }
    for (const [file, list] of byFile) this.lines.set(vscode.Uri.file(file), list);
  }
}

/** openCore lets the user choose a core file and opens it. */
async function openCore(): Promise<void> {
  const files = await vscode.window.showOpenDialog({ title: "Open OpenMP core", canSelectMany: false });
  if (files?.length) await attach(files[0].fsPath);
}

/** attach starts a session that attaches to a target. */
async function attach(target: string): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0];
  await vscode.debug.startDebugging(folder, { type: "ompd", request: "attach", name: `OpenMP ${target}`, target });
}

interface Process { pid: number; executable?: string; command?: string[]; threads?: number }

/** pickProcess lets the user choose a process that uses OpenMP, and returns its number. A launch.json takes it as
 * ${command:ompd.pickProcess}. */
async function pickProcess(): Promise<string | undefined> {
  const list = JSON.parse(await runTool("ps", "--json")) as { processes?: Process[] };
  const items = (list.processes ?? []).map((p) => ({
    label: String(p.pid), description: p.command?.join(" ") || p.executable || "", detail: p.threads ? `${p.threads} threads` : undefined,
  }));
  if (items.length === 0) {
    void vscode.window.showInformationMessage("No process of yours uses OpenMP.");
    return undefined;
  }
  const chosen = await vscode.window.showQuickPick(items, { title: "Processes that use OpenMP", matchOnDescription: true });
  return chosen?.label;
}

/** inspectProcess lets the user choose a process and opens it. */
async function inspectProcess(): Promise<void> {
  const pid = await pickProcess();
  if (pid) await attach(pid);
}

/** adapterOf returns the adapter of a session: the tool's own, or the tool before that of a debugger. */
function adapterOf(session: vscode.DebugSession): vscode.DebugAdapterExecutable {
  const debuggers: unknown = session.configuration.adapter;
  if (debuggers === undefined) return new vscode.DebugAdapterExecutable(command(), ["dap"]);
  if (!Array.isArray(debuggers) || debuggers.length === 0 || !debuggers.every((a) => typeof a === "string")) {
    throw new Error('"adapter" is a list of texts, such as ["gdb", "-i", "dap"]');
  }
  return new vscode.DebugAdapterExecutable(command(), ["dap", "--proxy", "--", ...debuggers]);
}

/** report displays the HTML report of the target. The page has a content policy of its own: no
 * network. */
async function report(shown: Shown): Promise<void> {
  const target = shown.session?.configuration.target ?? shown.picture?.target.pid ?? shown.picture?.target.path;
  if (target === undefined) return;
  const c: Partial<vscode.DebugConfiguration> = shown.session?.configuration ?? {};
  const flags: string[] = [];
  if (c.exe) flags.push("--exe", String(c.exe));
  if (c.sysroot) flags.push("--sysroot", String(c.sysroot));
  if (c.server) flags.push("--server", String(c.server));
  for (const dir of c.debugDirs ?? []) flags.push("--debug-dir", String(dir));
  const page = await runTool("report", "--format", "html", ...flags, "--", String(target));
  const panel = vscode.window.createWebviewPanel("ompd.report", "OpenMP report", vscode.ViewColumn.Active, { enableScripts: true });
  const kind = vscode.window.activeColorTheme.kind;
  const dark = kind === vscode.ColorThemeKind.Dark || kind === vscode.ColorThemeKind.HighContrast;
  panel.webview.html = page.replace("<html ", `<html data-theme="${dark ? "dark" : "light"}" `);
}

/** guarded shows errors of a command to the user. */
const guarded = (f: () => Promise<void>) => async (): Promise<void> => {
  try {
    await f();
  } catch (err) {
    void vscode.window.showErrorMessage(`OpenMP: ${(err as Error).message}`);
  }
};

/** activate is called when a view, a command or a debug session of any type starts. */
export function activate(context: vscode.ExtensionContext): void {
  const shown = new Shown(context);
  const follower = new Follower((session, body) => {
    shown.show(session, isPicture(body) ? mapSources(body, session?.configuration.sourceMap) : undefined);
  });
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("ompd", {
      createDebugAdapterDescriptor: adapterOf,
    }),
    vscode.debug.registerDebugAdapterTrackerFactory("*", { createDebugAdapterTracker: (s) => follower.track(s) }),
    vscode.debug.onDidChangeActiveDebugSession((s) => follower.activate(s)),
    vscode.debug.onDidTerminateDebugSession((s) => follower.forget(s)),
    vscode.commands.registerCommand("ompd.openCore", guarded(openCore)),
    vscode.commands.registerCommand("ompd.lookAtProcess", guarded(inspectProcess)),
    vscode.commands.registerCommand("ompd.pickProcess", pickProcess),
    vscode.commands.registerCommand("ompd.lookAgain", guarded(async () => { await shown.session?.customRequest("ompd/look"); })),
    vscode.commands.registerCommand("ompd.lookAndHold",
      guarded(async () => { await shown.session?.customRequest("ompd/look", { hold: true }); })),
    vscode.commands.registerCommand("ompd.report", guarded(() => report(shown))),
  );
}
