import * as vscode from "vscode";

/** Follower asks the sessions that answer ompd/picture for one at each stop. Others are never
 * asked: an adapter may die of a request that it does not know. The adapter of this extension
 * answers it, and so does every one that has sent an event of the name ompd/changed before. */
export class Follower {
  private readonly pictures = new Map<string, unknown>();
  private readonly answers = new Set<string>();
  private current: vscode.DebugSession | undefined;

  constructor(private readonly show: (s: vscode.DebugSession | undefined, body: unknown) => void) {}

  /** track watches what the adapter of a session sends. */
  track(session: vscode.DebugSession): vscode.DebugAdapterTracker {
    if (session.type === "ompd") this.answers.add(session.id);
    return {
      onDidSendMessage: (m: { type?: string; event?: string }) => {
        if (m.type !== "event") return;
        if (m.event === "ompd/changed") this.answers.add(session.id);
        if (m.event === "ompd/changed" || m.event === "stopped") void this.ask(session);
      },
    };
  }

  /** active shows the session that the user has chosen. */
  active(session: vscode.DebugSession | undefined): void {
    if (!session || !this.pictures.has(session.id)) return;
    this.current = session;
    this.show(session, this.pictures.get(session.id));
  }

  /** ended forgets a session. */
  ended(session: vscode.DebugSession): void {
    this.pictures.delete(session.id);
    this.answers.delete(session.id);
    if (this.current?.id === session.id) {
      this.current = undefined;
      this.show(undefined, undefined);
    }
  }

  private async ask(session: vscode.DebugSession): Promise<void> {
    if (!this.answers.has(session.id)) return;
    try {
      const body: unknown = await session.customRequest("ompd/picture");
      this.pictures.set(session.id, body);
      this.current = session;
      this.show(session, body);
    } catch {
      // It has ended, or has no picture yet: the next stop asks again.
    }
  }
}
