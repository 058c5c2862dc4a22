import * as vscode from "vscode";

/** Follower requests a picture at each stop from the sessions that support ompd/picture. It sends
 * nothing to other adapters, which may crash on unknown requests. The adapter of this extension
 * supports the request, and so does every adapter that has sent the event ompd/changed. */
export class Follower {
  private readonly pictures = new Map<string, unknown>();
  private readonly supporting = new Set<string>();
  private current: vscode.DebugSession | undefined;

  constructor(private readonly show: (s: vscode.DebugSession | undefined, body: unknown) => void) {}

  /** track observes the messages of a session's adapter. */
  track(session: vscode.DebugSession): vscode.DebugAdapterTracker {
    if (session.type === "ompd") this.supporting.add(session.id);
    return {
      onDidSendMessage: (m: { type?: string; event?: string }) => {
        if (m.type !== "event") return;
        if (m.event === "ompd/changed") this.supporting.add(session.id);
        if (m.event === "ompd/changed" || m.event === "stopped") void this.request(session);
      },
    };
  }

  /** activate shows the session that the user has selected. */
  activate(session: vscode.DebugSession | undefined): void {
    if (!session || !this.pictures.has(session.id)) return;
    this.current = session;
    this.show(session, this.pictures.get(session.id));
  }

  /** forget removes a session that has ended. */
  forget(session: vscode.DebugSession): void {
    this.pictures.delete(session.id);
    this.supporting.delete(session.id);
    if (this.current?.id === session.id) {
      this.current = undefined;
      this.show(undefined, undefined);
    }
  }

  private async request(session: vscode.DebugSession): Promise<void> {
    if (!this.supporting.has(session.id)) return;
    try {
      const body: unknown = await session.customRequest("ompd/picture");
      this.pictures.set(session.id, body);
      this.current = session;
      this.show(session, body);
    } catch {
      // The session has ended, or has no picture yet: the next stop requests it again.
    }
  }
}
