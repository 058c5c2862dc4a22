package rtl

import (
	"slices"
	"strings"
)

// interpreterLockCalls lists the functions by which C code acquires and releases the lock of CPython's interpreter
// (GIL). Source: Python/ceval.c, Python/pystate.c of 3.7 to 3.15.
var interpreterLockCalls = []string{
	"PyGILState_Ensure", "PyGILState_Release", "PyGILState_Check", "PyGILState_GetThisThreadState",
	"PyEval_SaveThread", "PyEval_RestoreThread", "PyEval_AcquireThread", "PyEval_ReleaseThread",
	"PyEval_AcquireLock", "PyEval_ReleaseLock", "PyThreadState_Get", "PyThreadState_GetUnchecked",
	"PyThreadState_Swap",
}

// InterpreterLockCall reports whether the named function acquires, releases or examines the lock of CPython's
// interpreter. It executes no Python code, and uses no lock of the program.
func InterpreterLockCall(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	return slices.Contains(interpreterLockCalls, name)
}
