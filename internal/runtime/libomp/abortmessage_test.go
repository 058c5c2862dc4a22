package libomp

import "testing"

// TestAbortMessage finds the text of an error in the frames of the functions that printed it.
func TestAbortMessage(t *testing.T) {
	const assertion = "OMP: Error #13: Assertion failure at kmp_lock.cpp(1109).\n"
	for _, tt := range []struct{ name, stack, want string }{
		{"an error", "\x00\x01OMP: Error #178: Function sched_getaffinity failed:\nOMP: System error #1: no\n\x00",
			"OMP: Error #178: Function sched_getaffinity failed:; OMP: System error #1: no"},
		{"an assertion without the hint", assertion + "\x00",
			"OMP: Error #13: Assertion failure at kmp_lock.cpp(1109)."},
		{"an assertion with the hint", "x" + assertion +
			"OMP: Hint Please submit a bug report with this message, compile and run commands used.\n\x00",
			"OMP: Error #13: Assertion failure at kmp_lock.cpp(1109)."},
		{"two errors", assertion + "\x00OMP: Error #1: other.\n\x00", ""},
		{"an incomplete one", "OMP: Error #13: Assert", ""},
		{"none", "\x00\x01", ""},
	} {
		if got := new(base).AbortMessage([]byte(tt.stack)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
