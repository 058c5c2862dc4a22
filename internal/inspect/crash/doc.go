// Package crash describes the end of a program: the fault or the abort that killed it, an uncaught exception, and
// a broken heap. It is a layer of package inspect above package teams.
package crash
