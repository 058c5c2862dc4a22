package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxThreadRows is how many rows the table of threads may have before threads that are
// alike, but stand apart, are one row too.
const maxThreadRows = 24

// threadGroup is threads that differ in nothing but their numbers.
type threadGroup struct {
	threads []picture.Thread
	key     string
}

// threadKey is equal for threads that are shown in one row. With loose, it does not
// matter of which team they are, as long as the teams are alike, nor for which lock they
// wait.
func threadKey(t picture.Thread, held string, loose bool) string {
	at := ""
	if f, ok := phrase.InnermostUser(t.UserStack); ok {
		at = fmt.Sprint(frameKey(f), "|", f.Line)
	}
	teams, waits := "", phrase.WaitsOn(t)
	for i, l := range t.Levels {
		teams += "/" + phrase.Number(l.TeamSize)
		if !loose {
			teams += string(l.Region)
			if i < len(t.Levels)-1 {
				teams += ":" + phrase.Number(l.ThreadNum)
			}
		}
	}
	if loose {
		waits = string(t.WaitKind)
	}
	return fmt.Sprint(phrase.RoleName(t), "|", teams, "|", stateName(t), "|", waits, "|", at, "|", t.Goroutine, "|",
		held)
}

// single reports whether a thread has a row of its own in any case.
func single(t picture.Thread) bool { return t.Crashed || t.LWP == 0 }

// groupThreads puts threads that are alike and stand side by side into one group; and,
// if there are too many groups then, all that are alike.
func groupThreads(ts []picture.Thread, held map[int]string, all bool) []threadGroup {
	if all {
		out := make([]threadGroup, len(ts))
		for i := range ts {
			out[i].threads = ts[i : i+1]
		}
		return out
	}
	var out []threadGroup
	for _, t := range ts {
		key := threadKey(t, held[t.LWP], false)
		if n := len(out) - 1; n >= 0 && !single(t) && out[n].key == key {
			out[n].threads = append(out[n].threads, t)
			continue
		}
		if single(t) {
			key = ""
		}
		out = append(out, threadGroup{threads: []picture.Thread{t}, key: key})
	}
	for _, loose := range []bool{false, true} {
		if len(out) > maxThreadRows {
			out = gather(ts, held, loose)
		}
	}
	return out
}

// gather puts all threads that are alike into one group each, in the order of their
// first members.
func gather(ts []picture.Thread, held map[int]string, loose bool) []threadGroup {
	var out []threadGroup
	at := map[string]int{}
	for _, t := range ts {
		key := threadKey(t, held[t.LWP], loose)
		i, ok := at[key]
		if ok && !single(t) {
			out[i].threads = append(out[i].threads, t)
			continue
		}
		if !single(t) {
			at[key] = len(out)
		}
		out = append(out, threadGroup{threads: []picture.Thread{t}, key: key})
	}
	return out
}

// Threads prints the holders of the locks that most threads wait for, and the table of threads.
func Threads(p *Printer, pic *picture.Picture) {
	p.printContention("", pic)
	threadTable(p, pic)
}

// threadTable prints the table of threads; those that are alike are one row.
func threadTable(p *Printer, pic *picture.Picture) {
	p.heading("THREADS", roles(pic.Threads))
	t := &table{head: []string{
		"", "LWP", "ROLE", "NUM/TEAM", "GOROUTINE", "STATE", "WAITS ON", "WHERE", "HOLDS",
	}}
	held := holdings(pic)
	if p.numbers {
		t.head = slices.Insert(t.head, nameColumn, "NAME")
	}
	for _, g := range groupThreads(pic.Threads, held, p.all || p.numbers && len(pic.Threads) <= maxThreadRows) {
		t.add(p.threadRow(pic, g, held[g.threads[0].LWP])...)
	}
	p.table(t)
	p.threadErrors(pic.Threads)
	loops(p, pic)
}

// threadRow is the row of a group.
func (p *Printer) threadRow(pic *picture.Picture, g threadGroup, held string) []string {
	first := g.threads[0]
	mark, lwp := "", fmt.Sprint(first.LWP)
	switch {
	case first.Crashed:
		mark = p.bad("*")
	case first.LWP == 0:
		lwp = "gone"
	case len(g.threads) > 1:
		mark, lwp = fmt.Sprintf("%d×", len(g.threads)), phrase.Ranges(threadIDs(g.threads), maxInCell)
	}
	cells := []string{mark, lwp, phrase.RoleName(first), groupNumbers(g.threads), goroutine(first.Goroutine),
		stateName(first), groupWait(g.threads), groupPlace(g.threads), held}
	if p.numbers {
		cells = slices.Insert(cells, nameColumn, groupName(pic, g.threads))
	}
	return cells
}

// maxInCell is how many numbers and ranges are named in a cell of a table.
const maxInCell = 4

func threadIDs(ts []picture.Thread) []int {
	ids := make([]int, len(ts))
	for i, t := range ts {
		ids[i] = t.LWP
	}
	return ids
}

// stateName is the state of a thread, and that it is tracked, or recorded, if it is; with what
// was recorded, if that is another state.
func stateName(t picture.Thread) string {
	switch {
	case t.State == nil:
		return ""
	case t.State.Disputed():
		return fmt.Sprintf("%s (recorded: %s)", t.State.Name, t.State.Recorded)
	case t.State.Recorded != "":
		return string(t.State.Name) + " (recorded)"
	case t.State.Source == picture.StateTracked:
		return string(t.State.Name) + " (tracked)"
	}
	return string(t.State.Name)
}

// groupNumbers is the thread numbers of a group at each level, and the team's size:
// "1-63/64", "0/2 > 1-2/3".
func groupNumbers(ts []picture.Thread) string {
	if len(ts) == 1 {
		return phrase.Numbers(ts[0])
	}
	var parts []string
	for i, l := range ts[0].Levels {
		if l.Level == 0 && len(ts[0].Levels) > 1 {
			continue
		}
		var nums extent
		for _, t := range ts {
			if n := t.Levels[i].ThreadNum; n != nil {
				nums.add(*n)
			}
		}
		parts = append(parts, cmp.Or(nums.String(), "?")+"/"+phrase.Number(l.TeamSize))
	}
	return strings.Join(parts, " > ")
}

// groupName names the threads of a group by their region and their numbers in it: "2.1",
// "2.1-63".
func groupName(pic *picture.Picture, ts []picture.Thread) string {
	n := regionNumber(pic, ts[0].Region)
	var nums extent
	for _, t := range ts {
		if t.Region != ts[0].Region || t.ThreadNum == nil {
			return ""
		}
		nums.add(*t.ThreadNum)
	}
	if n < 0 {
		return ""
	}
	return fmt.Sprintf("%d.%v", n, nums)
}

// groupWait is what the threads of a group wait for, without the address if they wait
// at several.
func groupWait(ts []picture.Thread) string {
	s := phrase.WaitsOn(ts[0])
	if len(ts) == 1 && ts[0].WaitKind == picture.WaitSleep {
		return phrase.Sleeping(s, ts[0].Sleep)
	}
	for _, t := range ts[1:] {
		if phrase.WaitsOn(t) != s {
			return string(ts[0].WaitKind)
		}
	}
	return s
}

// groupPlace is where the threads of a group are.
func groupPlace(ts []picture.Thread) string {
	f, ok := phrase.InnermostUser(ts[0].UserStack)
	if !ok {
		return ""
	}
	for _, t := range ts[1:] {
		if g, _ := phrase.InnermostUser(t.UserStack); f.PC != nil && (g.PC == nil || *g.PC != *f.PC) {
			f.PC = nil
		}
	}
	return phrase.Where(f)
}

// threadErrors prints what could not be read of threads; the same error of several
// threads once.
func (p *Printer) threadErrors(ts []picture.Thread) {
	var order []string
	of := map[string][]picture.Thread{}
	for _, t := range ts {
		for _, e := range t.Errors {
			if len(of[e]) == 0 {
				order = append(order, e)
			}
			of[e] = append(of[e], t)
		}
	}
	for _, e := range order {
		var lwps []int
		var names []string
		for _, t := range of[e] {
			if t.LWP != 0 {
				lwps = append(lwps, t.LWP)
			} else {
				names = append(names, phrase.ThreadName(t))
			}
		}
		if len(lwps) > 0 {
			names = append([]string{"LWP " + p.lwps(lwps)}, names...)
		}
		p.wrapped(fmt.Sprintf("  %s %s: ", p.note("!"), phrase.Some(names, maxPieces, len(names))), e)
	}
}

// roles counts threads by role.
func roles(ts []picture.Thread) string {
	n := map[string]int{}
	var order []string
	for _, t := range ts {
		r := phrase.RoleName(t)
		if n[r] == 0 {
			order = append(order, r)
		}
		n[r]++
	}
	var parts []string
	for _, r := range order {
		parts = append(parts, fmt.Sprintf("%d %s", n[r], r))
	}
	return fmt.Sprintf("%d: %s", len(ts), strings.Join(parts, ", "))
}
