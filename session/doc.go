// Package session opens targets and answers questions about them: it is the one way in
// for the command line, the server, debug adapters and Go programs.
//
// A Target is a core file, a running process, or what somebody else's Opener knows. A
// Question says what is wanted: parts of the picture, verdicts, one thread. Look answers
// it about one moment of the target:
//
//	t, err := session.Open(ctx, "core.1234", session.Options{})
//	...
//	defer t.Close()
//	answer, err := t.Look(ctx, session.Report())
//	...
//	defer answer.Close()
//	fmt.Println(answer.Picture.Verdicts)
//
// A running process is stopped only while a copy is made of what the question needs,
// which is found out beforehand by asking the same of the running program. Stop and
// Resume hold it longer: all looks between them are at the same moment.
//
// Each look has a bound of work, and ends with its context (internal/guard/budget).
package session
