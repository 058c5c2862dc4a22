// Package phrase names the things of a picture in words: all printers for people use the
// same.
package phrase

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Count is "1 thread", "3 threads".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// place is "file.c:12", with the base name of the file only.
func place(file string, line int) string {
	if file == "" {
		return ""
	}
	if line == 0 {
		return filepath.Base(file)
	}
	return filepath.Base(file) + ":" + strconv.Itoa(line)
}

// Where is a frame in one phrase: function and source line, or module and
// address.
func Where(f picture.Frame) string {
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
	case f.Kind == picture.FramePseudo || f.Module == "" || strings.HasPrefix(name, f.Module+"+"),
		strings.HasPrefix(name, "function "+f.Module+"+"):
		return name
	}
	return name + " (" + f.Module + ")"
}

// InnermostUser is the innermost frame of the program's own code.
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

// Numbers is a thread's number and team size at each level from the first on:
// "2/4", "1/2 > 0/3".
func Numbers(t picture.Thread) string {
	var parts []string
	for _, l := range t.Levels {
		if l.Level > 0 || len(t.Levels) == 1 {
			parts = append(parts, Number(l.ThreadNum)+"/"+Number(l.TeamSize))
		}
	}
	return strings.Join(parts, " > ")
}

// Number is a number that may be missing: "?" then.
func Number(n *int) string {
	if n == nil {
		return "?"
	}
	return strconv.Itoa(*n)
}

// WaitsOn is what a thread waits for.
func WaitsOn(t picture.Thread) string {
	s := string(t.WaitKind)
	switch {
	case t.WaitKind == picture.WaitCall:
		return "system call " + t.WaitName
	case t.WaitKind == picture.WaitMPI, t.WaitKind == picture.WaitJoin, t.WaitKind == picture.WaitSleep:
		return t.WaitName
	case t.WaitID == nil:
		return ""
	case t.WaitName != "":
		return strings.TrimSpace(s+" "+t.WaitName) + heldBy(t)
	case t.WaitOn != 0:
		return strings.TrimSpace(s+" "+t.WaitID.String()) + heldBy(t)
	}
	return strings.TrimSpace(s + " " + t.WaitID.String())
}

// heldBy says who has what a thread waits for, if that says so itself.
func heldBy(t picture.Thread) string {
	if t.WaitOn == 0 {
		return ""
	}
	return fmt.Sprintf(", held by LWP %d", t.WaitOn)
}

// ThreadName names a thread, also one that only the runtime still knows.
func ThreadName(t picture.Thread) string {
	if t.LWP == 0 && t.Number != nil {
		return fmt.Sprintf("the runtime's thread %d", *t.Number)
	}
	return fmt.Sprintf("LWP %d", t.LWP)
}

// RoleName is the role as the thread table has it.
func RoleName(t picture.Thread) string {
	switch {
	case t.Hidden:
		return "helper"
	case t.Role == picture.RoleNone:
		return "not OpenMP"
	}
	return string(t.Role)
}

// CodeName is the construct of a function: its source line if known, and the
// function.
func CodeName(c *picture.Code) string {
	if c == nil {
		return ""
	}
	at := place(c.File, c.Line)
	if at != "" && c.LineFrom == "call site" {
		at += " (where it was forked)"
	}
	if at == "" && c.Line != 0 { // flang tells the line only
		at = "line " + strconv.Itoa(c.Line)
	}
	return strings.TrimSpace(at + "  " + c.Called())
}

// Awaited names what is waited for in a sentence: "lock journal", "critical section ledger", "the word at 0x7f…".
func Awaited(t picture.WaitTarget) string {
	if t.Kind == picture.WaitOrdered && strings.HasPrefix(t.Name, "iteration ") {
		return t.Name + " of a loop with dependences"
	}
	row, name := t.Kind.Traits(), t.Name
	if name == "" && t.Address != nil && !row.NameOnly {
		name = "at " + t.Address.String()
		if t.Kind == picture.WaitFlag {
			name = "the word " + name
		}
	}
	switch {
	case !strings.Contains(row.Phrase, "%s"):
		return row.Phrase
	case name == "":
		return row.Unnamed
	}
	return strings.ReplaceAll(row.Phrase, "%s", name)
}

// Target is Awaited with the address of what has a name.
func Target(t picture.WaitTarget) string {
	s := Awaited(t)
	if t.Address == nil || t.Kind.Traits().NameOnly || strings.Contains(s, "at "+t.Address.String()) {
		return s
	}
	return s + " (" + t.Address.String() + ")"
}
