package text

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxThreadRows bounds the rows of the table of threads; if there are more, threads that are alike become one row even
// if they are not next to each other.
const maxThreadRows = 12

// maxNamedRows is the number of threads up to which each has a row of its own if regions have numbers.
const maxNamedRows = 24

// threadGroup is a group of threads that differ only in their numbers.
type threadGroup struct {
	threads []picture.Thread
	key     string
}

// threadKey returns a key that is equal for threads in one row. With loose, threads of different teams that are alike,
// or that wait for different locks, have the same key.
func threadKey(t picture.Thread, held string, loose bool) string {
	at := ""
	if f, ok := phrase.InnermostUser(t.UserStack); ok {
		at = fmt.Sprint(frameKey(f), "|", f.Line)
	}
	teams, waits := "", waitText(t)
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

// hasOwnRow reports whether a thread always has a row of its own.
func hasOwnRow(t picture.Thread) bool { return t.Crashed || t.LWP == 0 }

// groupThreads groups adjacent threads that are alike; if that gives too many groups, all threads that are alike.
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
		if n := len(out) - 1; n >= 0 && !hasOwnRow(t) && out[n].key == key {
			out[n].threads = append(out[n].threads, t)
			continue
		}
		if hasOwnRow(t) {
			key = ""
		}
		out = append(out, threadGroup{threads: []picture.Thread{t}, key: key})
	}
	for _, loose := range []bool{false, true} {
		if len(out) > maxThreadRows {
			out = groupAlike(ts, held, loose)
		}
	}
	return out
}

// groupAlike groups all threads that are alike, in the order of their first members.
func groupAlike(ts []picture.Thread, held map[int]string, loose bool) []threadGroup {
	var out []threadGroup
	at := map[string]int{}
	for _, t := range ts {
		key := threadKey(t, held[t.LWP], loose)
		i, ok := at[key]
		if ok && !hasOwnRow(t) {
			out[i].threads = append(out[i].threads, t)
			continue
		}
		if !hasOwnRow(t) {
			at[key] = len(out)
		}
		out = append(out, threadGroup{threads: []picture.Thread{t}, key: key})
	}
	return out
}

// Threads prints the holders of the locks that most threads wait for, and the table of threads.
func Threads(p *Printer, pic *picture.Picture) {
	printContention(p, "", pic)
	newThreadTable(p, pic).print()
}

// threadTable prints the table of threads, and their loops.
type threadTable struct {
	*Printer
	pic    *picture.Picture
	held   map[int]string // names of the locks that a thread holds, by LWP
	groups []threadGroup  // the groups of threads that have one row each
}

func newThreadTable(p *Printer, pic *picture.Picture) *threadTable {
	held := heldNames(pic)
	return &threadTable{p, pic, held, groupThreads(pic.Threads, held,
		p.all || p.numbers && len(pic.Threads) <= maxNamedRows)}
}

// Columns of the table of threads.
const (
	columnMark = iota
	columnThread
	columnLWP
	columnRole
	columnGoroutine
	columnPython
	columnState
	columnWaits
	columnWhere
	columnHolds
	threadColumns
)

// print prints the table; threads that are alike are one row.
func (p *threadTable) print() {
	p.printHeading("THREADS", countRoles(p.pic.Threads))
	t := &table{head: []string{"", "THREAD", "LWP", "ROLE", "GOROUTINE", "PYTHON NAME",
		"STATE", "WAITS ON", "WHERE", "HOLDS"}}
	for _, g := range p.groups {
		t.add(p.row(g)...)
	}
	p.fit(t)
	t.breaks = []lineBreak{{columnHolds, "holds"}, {columnWhere, "at"}}
	if p.numbers {
		t.breaks = []lineBreak{{columnHolds + 1, "holds"}, {columnWhere + 1, "at"}}
		t.head = slices.Insert(t.head, columnThread, "NAME")
		for i, g := range p.groups {
			t.rows[i] = slices.Insert(t.rows[i], columnThread, groupName(p.pic, g.threads))
		}
	}
	p.printTable(t)
	p.printErrors()
	p.printLoops()
	p.printTargets()
}

// fit makes a table fit the width without a loss of WHERE: it removes the addresses of awaited objects, the roles, the
// awaited objects that the state names as well, and LWPs beyond the first few, in this order and only as far as needed.
// What is still too wide is printed on lines of its own.
func (p *threadTable) fit(t *table) {
	p.narrow(t,
		func() { t.changeColumn(columnWaits, withoutAddress) },
		func() { t.changeColumn(columnRole, func(string) string { return "" }) },
		func() {
			for i, g := range p.groups {
				if r := t.rows[i]; isInState(g.threads[0], r[columnWaits]) {
					r[columnWaits] = ""
				}
			}
		},
		func() {
			for i, g := range p.groups {
				if len(g.threads) > 1 {
					t.rows[i][columnLWP] = phrase.Ranges(threadIDs(g.threads), 1)
				}
			}
		})
}

// withoutAddress returns the name of an awaited object without its address: "barrier".
func withoutAddress(s string) string {
	words := strings.Fields(s)
	words = slices.DeleteFunc(words, func(w string) bool { return strings.HasPrefix(w, "0x") })
	return strings.Join(words, " ")
}

// isInState reports whether the state of a thread names the kind of its awaited object, which has no name.
func isInState(t picture.Thread, waits string) bool {
	return t.State != nil && waits != "" && strings.Contains(string(t.State.Name), waits)
}

// row returns the cells of a group.
func (p *threadTable) row(g threadGroup) []string {
	first := g.threads[0]
	mark, lwp := "", fmt.Sprint(first.LWP)
	switch {
	case first.Crashed:
		mark = p.red("*")
	case first.LWP == 0:
		lwp = "gone"
	case len(g.threads) > 1:
		mark, lwp = fmt.Sprintf("%d×", len(g.threads)), phrase.Ranges(threadIDs(g.threads), maxInCell)
	}
	cells := make([]string, threadColumns)
	cells[columnMark], cells[columnLWP], cells[columnRole] = mark, lwp, phrase.RoleName(first)
	cells[columnThread] = strings.ReplaceAll(groupNumbers(g.threads), "/", " of ")
	cells[columnGoroutine], cells[columnState] = goroutineText(first.Goroutine), stateName(first)
	cells[columnPython] = pythonNames(g.threads)
	cells[columnWaits], cells[columnWhere] = groupWait(g.threads), groupPlace(g.threads)
	cells[columnHolds] = p.held[first.LWP]
	return cells
}

// threadNames names threads by their numbers in their team, with their LWPs (phrase.Threads).
func (p *Printer) threadNames(ts []picture.Thread) string { return phrase.Threads(ts, p.all) }

// namesOf is threadNames for threads that are listed by LWP.
func (p *Printer) namesOf(threads map[int]*picture.Thread, lwps []int) string {
	return p.threadNames(threadsOf(threads, lwps))
}

// threadsOf returns the threads with these LWPs; unknown ones have only their LWP.
func threadsOf(threads map[int]*picture.Thread, lwps []int) []picture.Thread {
	ts := make([]picture.Thread, len(lwps))
	for i, lwp := range lwps {
		if ts[i] = (picture.Thread{LWP: lwp}); threads[lwp] != nil {
			ts[i] = *threads[lwp]
		}
	}
	return ts
}

func threadIDs(ts []picture.Thread) []int {
	ids := make([]int, len(ts))
	for i, t := range ts {
		ids[i] = t.LWP
	}
	return ids
}

// stateName returns the state of a thread, its source if it is tracked or recorded, and the recorded state if that
// differs.
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

// groupNumbers returns the thread numbers of a group at each level and the team's size: "1-63/64", "0/2 > 1-2/3".
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

// groupName returns the number of the region and the thread numbers of a group: "2.1", "2.1-63".
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

// waitText names the object that a thread waits for. A taskwait or taskgroup has no name: each thread has its own, and
// the state names its kind. It has that of the target tasks, if it waits for such.
func waitText(t picture.Thread) string {
	if t.WaitKind == picture.WaitTaskwait || t.WaitKind == picture.WaitTaskgroup {
		return t.WaitName
	}
	return phrase.WaitsOn(t)
}

// groupWait returns the object that the threads of a group wait for, or its kind alone if they wait for several.
func groupWait(ts []picture.Thread) string {
	s := waitText(ts[0])
	if len(ts) == 1 && ts[0].WaitKind == picture.WaitSleep {
		return phrase.Sleeping(s, ts[0].Sleep)
	}
	for _, t := range ts[1:] {
		if waitText(t) != s {
			return string(ts[0].WaitKind)
		}
	}
	return s
}

// groupPlace returns the place of the threads of a group.
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

// printErrors prints the errors of threads; errors of several threads that differ only in the thread's number once.
func (p *threadTable) printErrors() {
	var order []string
	byError := map[string][]picture.Thread{}
	for _, t := range p.pic.Threads {
		for _, e := range t.Errors {
			if !p.all && t.LWP != 0 {
				e = strings.ReplaceAll(e, fmt.Sprintf("LWP %d:", t.LWP), "the thread:")
			}
			if len(byError[e]) == 0 {
				order = append(order, e)
			}
			byError[e] = append(byError[e], t)
		}
	}
	for _, e := range order {
		var lwps []int
		var names []string
		for _, t := range byError[e] {
			if t.LWP != 0 {
				lwps = append(lwps, t.LWP)
			} else {
				names = append(names, phrase.ThreadName(t))
			}
		}
		if len(lwps) > 0 {
			names = append([]string{p.namesOf(threadsByLWP(p.pic), lwps)}, names...)
		}
		p.printWrapped(fmt.Sprintf("  %s %s: ", p.amber("!"), phrase.Some(names, maxPieces, len(names))), e)
	}
}

// countRoles counts threads by role.
func countRoles(ts []picture.Thread) string {
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

const (
	maxLoops     = 16 // lines on loops
	maxPositions = 12 // iterations in one line
)

// printLoops prints the worksharing loops and sections, each with the positions of its threads.
func (p *threadTable) printLoops() {
	var loops groups
	for _, t := range p.pic.Threads {
		if t.Loop == nil {
			continue
		}
		loop := *t.Loop
		if !p.all {
			loop.From, loop.To, loop.At = nil, nil, nil
		}
		key := phrase.Loop(loop)
		if p.all {
			key = fmt.Sprint(t.LWP, " ", key)
		} else if f, ok := phrase.InnermostUser(t.UserStack); ok && t.Loop.From == nil {
			key += "\x00" + f.Place() // loops of one form are kept apart by their places
		}
		loops.add(key, t)
	}
	p.printGroups("LOOPS", &loops, maxLoops, func(key string, ts []picture.Thread) {
		if p.all {
			_, key, _ = strings.Cut(key, " ")
		}
		key, _, _ = strings.Cut(key, "\x00")
		if p.all {
			p.printWrapped("  "+p.threadNames(ts)+"  ", key)
			return
		}
		p.printWrapped("  ", key+": "+p.threadNames(ts))
		if list := positions(ts); list != "" {
			p.printWrapped("    "+p.dim("at")+" ", list)
		}
	})
}

// maxTargets bounds the lines on target constructs.
const maxTargets = 16

// printTargets prints the target constructs that threads execute or wait for.
func (p *threadTable) printTargets() {
	var constructs groups
	for _, t := range p.pic.Threads {
		if t.Target != nil {
			constructs.add(phrase.TargetConstruct(t.Target), t)
		}
	}
	p.printGroups("TARGET CONSTRUCTS", &constructs, maxTargets, func(key string, ts []picture.Thread) {
		p.printWrapped("  ", key+": "+p.threadNames(ts))
	})
}

// groups has threads by a text that is the same for all threads of a group, in the order of the first thread.
type groups struct {
	order   []string
	members map[string][]picture.Thread
}

// add adds a thread to the group of a text.
func (g *groups) add(key string, t picture.Thread) {
	if g.members == nil {
		g.members = map[string][]picture.Thread{}
	}
	if len(g.members[key]) == 0 {
		g.order = append(g.order, key)
	}
	g.members[key] = append(g.members[key], t)
}

// printGroups prints a section, each group by a call of printGroup: at most limit groups, unless all are wanted.
// Without a group, there is no section.
func (p *threadTable) printGroups(title string, g *groups, limit int, printGroup func(string, []picture.Thread)) {
	if len(g.order) == 0 {
		return
	}
	p.printLine("")
	p.printLine(p.bold(title))
	for i, key := range g.order {
		if i == limit && !p.all {
			p.printf("  … %d more; --all shows them", len(g.order)-i)
			break
		}
		printGroup(key, g.members[key])
	}
}

// positions returns the iterations that threads execute, with their numbers: "254 (thread 0), 110 (1), 126 (2)".
func positions(ts []picture.Thread) string {
	var parts []string
	for _, t := range ts {
		at := loopPosition(t.Loop)
		if at == "" {
			continue
		}
		who := phrase.ThreadName(t)
		switch {
		case t.ThreadNum != nil && len(parts) == 0:
			who = fmt.Sprintf("thread %d", *t.ThreadNum)
		case t.ThreadNum != nil:
			who = strconv.Itoa(*t.ThreadNum)
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", at, who))
	}
	return phrase.Some(parts, maxPositions, len(parts))
}

// loopPosition returns the iteration that a thread executes, in the iterations that it was given: "254", "12 of 8 to
// 15", "8 to 15", or "".
func loopPosition(l *picture.Loop) string {
	part := ""
	if l.From != nil && l.To != nil && *l.From != *l.To {
		part = fmt.Sprintf("%d to %d", *l.From, *l.To)
	} else if l.From != nil && l.To != nil {
		part = strconv.FormatInt(*l.From, 10)
	}
	if l.At == nil {
		return part
	}
	at := strconv.FormatInt(*l.At, 10)
	if part == "" || part == at {
		return at
	}
	return at + " of " + part
}

// pythonNames returns the names of threads in Python, each once.
func pythonNames(ts []picture.Thread) string {
	var names []string
	for _, t := range ts {
		if t.Name != "" && !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	return phrase.Some(names, maxPieces, len(names))
}

// goroutineText returns the number of a goroutine; "" for 0.
func goroutineText(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}
