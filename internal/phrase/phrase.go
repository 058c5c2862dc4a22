// Package phrase words the things of a picture. All views and verdicts share it.
package phrase

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Count returns "1 thread" or "3 threads".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Thousands returns a number with a comma before each three digits: "14,000".
func Thousands(n int) string {
	const group = 3
	s := strconv.Itoa(n)
	for at := len(s) - group; at > 0 && s[at-1] != '-'; at -= group {
		s = s[:at] + "," + s[at:]
	}
	return s
}

// place returns "file.c:12", with the base name of the file.
func place(file string, line int) string {
	if file == "" {
		return ""
	}
	if line == 0 {
		return filepath.Base(file)
	}
	return filepath.Base(file) + ":" + strconv.Itoa(line)
}

// Where returns a frame in one phrase: function and source line, or module and address. Names of functions
// are short.
func Where(f picture.Frame) string {
	f.Function, f.In = ShortName(f.Function), ShortName(f.In)
	return WhereWhole(f)
}

// WhereWhole returns a frame as Where does, with the whole name of the function.
func WhereWhole(f picture.Frame) string {
	name := f.Function
	switch {
	case f.Construct != "" && f.In != "":
		name = f.In + " [" + f.Construct + "]"
	case f.Construct != "":
		name += " [" + f.Construct + "]"
	case name == "":
		name = f.Spot()
	}
	switch {
	case f.Line != 0:
		return name + " " + f.Place()
	case f.Language != "":
		return name + " (" + f.Language + ")"
	case f.Kind == picture.FramePseudo || f.Module == "" || name == f.Module || strings.HasPrefix(name, f.Module+"+"),
		strings.HasPrefix(name, "function "+f.Module+"+"):
		return name
	}
	return name + " (" + f.Module + ")"
}

// InnermostUser returns the innermost frame of the program's own code, or else of any code.
func InnermostUser(fs []picture.Frame) (picture.Frame, bool) {
	if i := picture.InnermostUser(fs); i >= 0 {
		return fs[i], true
	}
	for _, f := range fs {
		if f.Kind != picture.FramePseudo {
			return f, true
		}
	}
	return picture.Frame{}, false
}

// Numbers returns a thread's number and team size at each level from the first on: "2/4", "1/2 > 0/3".
func Numbers(t picture.Thread) string {
	var parts []string
	for _, l := range t.Levels {
		if l.Level > 0 || len(t.Levels) == 1 {
			parts = append(parts, Number(l.ThreadNum)+"/"+Number(l.TeamSize))
		}
	}
	return strings.Join(parts, " > ")
}

// Number formats a number, "?" if it is missing.
func Number(n *int) string {
	if n == nil {
		return "?"
	}
	return strconv.Itoa(*n)
}

// ThreadName names a thread, also one that only the runtime still lists.
func ThreadName(t picture.Thread) string {
	if t.LWP == 0 && t.Number != nil {
		return fmt.Sprintf("the runtime's thread %d", *t.Number)
	}
	return fmt.Sprintf("LWP %d", t.LWP)
}

// RoleName returns the role of a thread for a table.
func RoleName(t picture.Thread) string {
	switch {
	case t.Hidden:
		return "helper"
	case t.Role == picture.RoleNone:
		return "not OpenMP"
	}
	return string(t.Role)
}

// CodeName returns the construct of a function: its source line, if that is known, and the function.
func CodeName(c *picture.Code) string {
	if c == nil {
		return ""
	}
	at := place(c.File, c.Line)
	if at != "" && c.LineFrom == "call site" {
		at += " (where it was forked)"
	}
	if at == "" && c.Line != 0 { // flang records the line only
		at = "line " + strconv.Itoa(c.Line)
	}
	return strings.TrimSpace(at + "  " + ShortName(c.Called()))
}

// NumberedThread names a thread by its number in its team: "thread 1 (LWP 4712)"; by its LWP alone outside of
// parallel regions.
func NumberedThread(t picture.Thread) string {
	if t.ThreadNum == nil || t.Level == nil || *t.Level == 0 {
		return ThreadName(t)
	}
	return fmt.Sprintf("thread %d (%s)", *t.ThreadNum, ThreadName(t))
}

// TargetConstruct returns a target construct in the words of a table: "target saxpy solve.c:31 on device 0, executed by
// the thread itself".
func TargetConstruct(t *picture.TargetConstruct) string {
	s := t.Construct + " " + t.Place()
	switch {
	case t.OnHost:
		s += ", executed by the thread itself: no device executes it"
		if t.HostReason != "" {
			s += " (" + t.HostReason + ")"
		}
	case t.Executes:
		s += ", executed by the thread itself"
	}
	return s
}

// Loop returns "dynamic, chunk 5: 10 to 208 step 2, 100 iterations, 90 left".
func Loop(l picture.Loop) string {
	s := l.Schedule
	if l.Ordered {
		s += " ordered"
	}
	if l.Chunk != nil {
		s += fmt.Sprintf(", chunk %d", *l.Chunk)
	}
	var parts []string
	if l.Last != nil && l.Step != nil {
		values := fmt.Sprintf("to %d step %d", *l.Last, *l.Step)
		if l.First != nil {
			values = fmt.Sprintf("%d %s", *l.First, values)
		}
		parts = append(parts, values)
	}
	if l.Iterations != nil {
		parts = append(parts, fmt.Sprintf("%d iterations", *l.Iterations))
	}
	if l.Left != nil {
		parts = append(parts, fmt.Sprintf("%d left", *l.Left))
	}
	if l.From != nil && l.To != nil {
		parts = append(parts, fmt.Sprintf("has %d to %d", *l.From, *l.To))
	}
	if l.At != nil {
		parts = append(parts, fmt.Sprintf("is in %d", *l.At))
		if l.To != nil && l.Step != nil && *l.Step != 0 {
			parts = append(parts, fmt.Sprintf("%d more after it", (*l.To-*l.At) / *l.Step))
		}
	}
	if len(parts) == 0 {
		return s
	}
	return s + ": " + strings.Join(parts, ", ")
}
