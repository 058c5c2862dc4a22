// The parts of a picture (proto/picture.schema.json) that the views show.

export interface Frame {
  kind: string;
  function?: string;
  file?: string;
  line?: number;
  module?: string;
  construct?: string;
  in?: string;
}

export interface Thread {
  lwp?: number;
  role: string;
  thread_num?: number;
  team_size?: number;
  region?: string;
  state?: { name: string; source: string };
  wait_name?: string;
  user_stack?: Frame[];
}

export interface Code {
  name?: string;
  file?: string;
  line?: number;
}

export interface Region {
  id: string;
  parent?: string;
  level: number;
  team_size: number;
  serialized: boolean;
  function?: Code;
  threads: number[];
}

export interface Task {
  id: string;
  kind: string;
  state: string;
  parent?: string;
  thread?: number;
  function?: Code;
  waits_for?: string[];
}

export interface CycleStep {
  thread: number;
  waits_for: { kind: string; name?: string };
  held_by: number;
  held_evidence: string;
  held_at?: Frame;
  frames?: Frame[];
}

export interface Verdict {
  kind: string;
  certainty: string;
  severity: string;
  summary: string;
  explanation?: string;
  fix?: string;
  threads?: number[];
  evidence?: string[];
  cycle?: CycleStep[];
  missing?: { thread: number; frame?: Frame }[];
}

export interface Picture {
  schema: string;
  target: { kind: string; path?: string; pid?: number; executable?: string };
  verdicts?: Verdict[];
  threads?: Thread[];
  regions?: Region[];
  tasks?: Task[];
}

/** schema matches the supported versions of pictures: the number before the point counts. */
const schema = /^ompd-inspect\/picture\/3\./;

/** isPicture reports whether a body is a picture of a supported version. */
export function isPicture(body: unknown): body is Picture {
  return typeof body === "object" && body !== null && schema.test(String((body as Picture).schema));
}

/** Spot is a source line that a verdict names, with a message. */
export interface Spot {
  file: string;
  line: number;
  severity: string;
  message: string;
}

const base = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** innermostFrame returns the innermost frame of the program's own code that has a line; one in a header of the C++
 * standard library only if there is no other. */
export function innermostFrame(frames: Frame[] | undefined): Frame | undefined {
  const own = frames?.filter((f) => f.kind === "user" && f.file && f.line);
  return own?.find((f) => !/\/include\/(.*\/)?c\+\+\//.test(f.file ?? "")) ?? own?.[0];
}

/** place returns "file.c:12". */
export function place(at: { file?: string; line?: number } | undefined): string {
  return at?.file ? base(at.file) + (at.line ? ":" + at.line : "") : "";
}

/** threadName returns "thread 2 of 4 (LWP 455)". */
export function threadName(picture: Picture, lwp: number): string {
  const t = picture.threads?.find((t) => t.lwp === lwp);
  return t?.thread_num !== undefined && (t.team_size ?? 1) > 1
    ? `thread ${t.thread_num} of ${t.team_size} (LWP ${lwp})`
    : `LWP ${lwp}`;
}

/** heading returns the title of a verdict. */
export function heading(v: Verdict): string {
  return v.kind.replace(/_/g, " ").toUpperCase();
}

/** spots returns the lines that the verdicts name. */
export function spots(picture: Picture): Spot[] {
  const out: Spot[] = [];
  for (const v of picture.verdicts ?? []) {
    const add = (f: Frame | undefined, message: string): void => {
      if (f?.file && f.line) out.push({ file: f.file, line: f.line, severity: v.severity, message: `${heading(v)}: ${message}` });
    };
    for (const s of v.cycle ?? []) {
      const what = [s.waits_for.kind.replace(/_/g, " "), s.waits_for.name ?? ""].join(" ").trim();
      add(innermostFrame(s.frames), `${threadName(picture, s.thread)} waits here for ${what}; ${threadName(picture, s.held_by)}: ${s.held_evidence}`);
      add(s.held_at, `${threadName(picture, s.held_by)} acquired ${what} here; ${threadName(picture, s.thread)} waits for it`);
    }
    for (const m of v.missing ?? []) {
      add(m.frame, `${threadName(picture, m.thread)} is here, and not at the barrier`);
    }
    if (!v.cycle?.length && !v.missing?.length && v.severity !== "info") {
      for (const lwp of (v.threads ?? []).slice(0, 16)) {
        const t = picture.threads?.find((t) => t.lwp === lwp);
        add(innermostFrame(t?.user_stack), v.summary);
      }
    }
  }
  return out;
}

/** mapSources returns a picture whose source files are replaced by a map: the longest matching
 * prefix counts. */
export function mapSources(picture: Picture, sourceMap: Record<string, string> | undefined): Picture {
  const rules = Object.entries(sourceMap ?? {}).sort((a, b) => b[0].length - a[0].length);
  if (rules.length === 0) return picture;
  const path = (file: string): string => {
    const rule = rules.find(([from]) => file === from || file.startsWith(from.endsWith("/") ? from : from + "/"));
    return rule ? rule[1] + file.slice(rule[0].length) : file;
  };
  return JSON.parse(JSON.stringify(picture), (key, value) => (key === "file" && typeof value === "string" ? path(value) : value)) as Picture;
}
