package diagnose

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// goesOn is the sentence on code that leaves a lock, which what names; empty if none is known.
func goesOn(l *picture.Lock, what string) string {
	at := leftAt(l)
	if at == "" {
		return ""
	}
	return fmt.Sprintf(" Some code that acquires %s goes on without releasing it%s.", what, at)
}

// leftBy says how a function of that name, which does not return, leaves the one that calls it.
func leftBy(function string) string {
	how := "an exception"
	switch {
	case strings.HasSuffix(function, "_exit"): // pthread_exit, thrd_exit
		how = "the end of the thread"
	case strings.Contains(function, "longjmp"):
		how = "a jump"
	}
	name, _, _ := strings.Cut(function, "(")
	return fmt.Sprintf("%s (%s)", how, name)
}

// leftAt says where the code that acquires a lock goes on without releasing it.
func leftAt(l *picture.Lock) string {
	var at []string
	for _, w := range l.Leaks {
		text := place(w.Frame)
		if w.ExitCall != "" {
			text = fmt.Sprintf("%s out of the call at %s", leftBy(w.ExitCall), text)
		}
		at = append(at, text)
	}
	if len(at) == 0 {
		return ""
	}
	return ": by " + strings.Join(at, ", or by ")
}
