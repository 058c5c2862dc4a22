// Package engine opens targets, takes snapshots of them and answers queries. The command line, the server, debug
// adapters and package session, the Go API, are built on it.
//
// A Target is a core file, a running process, or a Source or Asker of another kind. A Query names the wanted parts:
// threads, regions, verdicts, one task. Look answers a query about a snapshot:
//
//	t, err := engine.Open(ctx, "core.1234", engine.Options{})
//	...
//	defer t.Close()
//	result, err := t.Look(ctx, engine.Report())
//	...
//	defer result.Close()
//	fmt.Println(result.Picture.Verdicts)
//
// A running process is stopped only while the memory that the query needs is copied. To find out which memory that is,
// the query is answered once beforehand from the running program (the rehearsal). Stop and Resume stop it for longer:
// all snapshots between them are the same.
//
// Each snapshot has a limit of CPU time and memory, and ends when its context ends (internal/guard/budget).
package engine
