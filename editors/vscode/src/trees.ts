import * as vscode from "vscode";
import { innermostFrame, heading, place, threadName, Picture, Region, Task } from "./picture";

/** Item is a line of a tree. */
export interface Item {
  label: string;
  detail?: string;
  tooltip?: string;
  icon?: string;
  file?: string;
  line?: number;
  inner?: Item[];
  open?: boolean;
}

/** Tree displays items that are made from a picture. */
export class Tree implements vscode.TreeDataProvider<Item> {
  private items: Item[] = [];
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;

  constructor(private readonly make: (p: Picture) => Item[]) {}

  /** show displays a picture; without one the tree is empty. */
  show(p: Picture | undefined): void {
    this.items = p ? this.make(p) : [];
    this.changed.fire();
  }

  getChildren(item?: Item): Item[] {
    return item ? item.inner ?? [] : this.items;
  }

  getTreeItem(item: Item): vscode.TreeItem {
    const fold = vscode.TreeItemCollapsibleState;
    const state = !item.inner?.length ? fold.None : item.open ? fold.Expanded : fold.Collapsed;
    const out = new vscode.TreeItem(item.label, state);
    out.description = item.detail;
    out.tooltip = item.tooltip ?? [item.label, item.detail].filter(Boolean).join(" ");
    if (item.icon) out.iconPath = new vscode.ThemeIcon(item.icon);
    if (item.file && item.line) {
      const at = new vscode.Position(item.line - 1, 0);
      out.command = {
        command: "vscode.open", title: "Open the line",
        arguments: [vscode.Uri.file(item.file), { selection: new vscode.Range(at, at), preview: true }],
      };
    }
    return out;
  }
}

const severityIcons: Record<string, string> = { crash: "error", hang: "error", warning: "warning" };

/** verdicts returns the verdicts with their threads and evidence. */
export function verdicts(p: Picture): Item[] {
  const list = p.verdicts ?? [];
  if (list.length === 0) return [{ label: "No verdict", detail: "no cause of a hang or a crash was found", icon: "check" }];
  return list.map((v) => {
    const inner: Item[] = [];
    if (v.fix) inner.push({ label: "Fix", detail: v.fix, icon: "lightbulb" });
    for (const s of v.cycle ?? []) {
      const at = innermostFrame(s.frames);
      inner.push({
        label: threadName(p, s.thread), detail: `waits for ${s.waits_for.kind} ${s.waits_for.name ?? ""} · ${place(at)}`,
        tooltip: s.held_evidence, icon: "arrow-right", file: at?.file, line: at?.line,
      });
      if (s.held_at) {
        inner.push({
          label: threadName(p, s.held_by), detail: `acquired it · ${place(s.held_at)}`, tooltip: s.held_evidence,
          icon: "lock", file: s.held_at.file, line: s.held_at.line,
        });
      }
    }
    for (const m of v.missing ?? []) {
      inner.push({ label: threadName(p, m.thread), detail: `is missing · ${place(m.frame)}`, icon: "circle-slash", file: m.frame?.file, line: m.frame?.line });
    }
    for (const e of v.evidence ?? []) inner.push({ label: e, icon: "info" });
    return {
      label: heading(v), detail: `${v.summary} (${v.certainty})`, tooltip: v.explanation,
      icon: severityIcons[v.severity] ?? "info", inner, open: v.severity !== "info",
    };
  });
}

/** regions returns the tree of regions with their members. */
export function regions(p: Picture): Item[] {
  const byId = new Map((p.regions ?? []).map((r) => [r.id, r]));
  const inner = new Map<string, Region[]>();
  for (const r of p.regions ?? []) {
    const parent = r.parent && byId.has(r.parent) ? r.parent : "";
    inner.set(parent, [...(inner.get(parent) ?? []), r]);
  }
  const threads = new Map((p.threads ?? []).map((t) => [t.lwp, t]));
  const line = (r: Region): Item => ({
    label: r.level === 0 ? "serial code" : `parallel ${place(r.function) || r.function?.name || ""}`.trim(),
    detail: r.level === 0 ? "" : `level ${r.level}, team of ${r.team_size}${r.serialized ? ", serialized" : ""}`,
    icon: "type-hierarchy", file: r.function?.file, line: r.function?.line, open: true,
    inner: [
      ...r.threads.map((lwp): Item => {
        const t = threads.get(lwp);
        const at = innermostFrame(t?.user_stack);
        const here = t?.region === r.id;
        return {
          label: here ? threadName(p, lwp) : `LWP ${lwp}`,
          detail: here ? [t?.state?.name, t?.wait_name, place(at)].filter(Boolean).join(" · ") : "in an inner region",
          icon: here && t?.state?.name.startsWith("wait") ? "debug-pause" : "play", file: at?.file, line: at?.line,
        };
      }),
      ...(inner.get(r.id) ?? []).map(line),
    ],
  });
  return (inner.get("") ?? []).map(line);
}

/** tasks returns the tree of tasks. Tasks of the same place and parents are one item. */
export function tasks(p: Picture): Item[] {
  interface Group { task: Task; count: number; states: Map<string, number>; waits: number; inner: Map<string, Group> }
  const byId = new Map((p.tasks ?? []).map((t) => [t.id, t]));
  const groups = new Map<string, Group | undefined>();
  const roots = new Map<string, Group>();
  const name = (t: Task): string => `${t.kind} task ${place(t.function) || t.function?.name || ""}`.trim();
  const group = (t: Task, depth: number): Group | undefined => {
    if (groups.has(t.id)) return groups.get(t.id);
    groups.set(t.id, undefined);
    const parent = t.parent && depth < 24 ? byId.get(t.parent) : undefined;
    const level = (parent && group(parent, depth + 1)?.inner) ?? roots;
    const key = name(t);
    const g = level.get(key) ?? { task: t, count: 0, states: new Map(), waits: 0, inner: new Map() };
    level.set(key, g);
    g.count++;
    g.states.set(t.state, (g.states.get(t.state) ?? 0) + 1);
    g.waits += t.waits_for?.length ?? 0;
    groups.set(t.id, g);
    return g;
  };
  for (const t of p.tasks ?? []) group(t, 0);
  const line = (g: Group): Item => ({
    label: (g.count > 1 ? `${g.count} × ` : "") + name(g.task),
    detail: [...g.states].map(([s, n]) => (g.count > 1 ? `${n} ${s}` : s)).join(", ") + (g.waits ? `; ${g.waits} dependences` : ""),
    icon: "symbol-event", file: g.task.function?.file, line: g.task.function?.line, inner: [...g.inner.values()].map(line), open: true,
  });
  return [...roots.values()].map(line);
}
