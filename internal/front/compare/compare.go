// Package compare asks another maker's OMPD library about a target, and compares its answers with those of package
// ompd. It is a check of both: no verdict rests on it.
//
// The library runs in a process of its own, ompd-compare (libompd/compare), without the right to open files, to start
// programs or to use the network, and with limits of time and memory. Its callbacks are answered here.
package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/ompd"
)

// Result is the result of the comparison of one fact.
type Result string

// Results of a comparison.
const (
	Same       Result = "same"
	Differs    Result = "differs"
	OnlyOurs   Result = "only ours"
	OnlyTheirs Result = "only theirs"
)

// Fact is a fact of OMPD about the target, such as the state of a thread, with both answers. An answer without a value
// is the return code of the routine, in parentheses; empty means that the question did not arise.
type Fact struct {
	Name   string `json:"name"`
	Result Result `json:"result"`
	Ours   string `json:"ours,omitempty"`
	Theirs string `json:"theirs,omitempty"`
}

// Comparison has the answers of both libraries.
type Comparison struct {
	Library string `json:"library"`           // path
	Version string `json:"version,omitempty"` // the library's own description
	Runtime string `json:"runtime"`           // path of the runtime
	Facts   []Fact `json:"facts"`
}

// Count returns the number of facts with a result.
func (c *Comparison) Count(r Result) int {
	n := 0
	for _, f := range c.Facts {
		if f.Result == r {
			n++
		}
	}
	return n
}

// answer is the answer of a library to one question.
type answer struct {
	rc    callbacks.RC
	value string
}

// valid reports whether the answer has a value.
func (a answer) valid() bool { return a.rc == callbacks.OK || a.rc == callbacks.Incomplete }

// String returns the value, or the return code.
func (a answer) String() string {
	if a.valid() {
		return phrase.Printable(a.value)
	}
	return "(" + strings.TrimPrefix(a.rc.String(), "ompd_rc_") + ")"
}

// answers are the answers of one library, by the name of the fact.
type answers map[string]answer

// add adds the first answer to a question. A variable can be listed a second time with a prefix of OMPD.
func (as answers) add(name string, a answer) {
	name = canonical(name)
	if was, ok := as[name]; !ok || !was.valid() {
		as[name] = a
	}
}

// otherNames are names of variables that libraries use in place of those of the standard.
var otherNames = map[string]string{"final-var": "final-task-var", "implicit-var": "implicit-task-var"}

// canonical returns the name of a fact that is independent of the scopes and prefixes of variables in a library: the
// variables of the current task are facts of the thread.
func canonical(name string) string {
	subject, what, ok := strings.Cut(name, ": ")
	if !ok {
		return strings.TrimPrefix(name, "ompd-")
	}
	what = strings.TrimPrefix(what, "ompd-")
	what = cmp.Or(otherNames[what], what)
	if strings.HasSuffix(what, "-var") {
		subject = strings.TrimSuffix(subject, " task 0")
	}
	return subject + ": " + what
}

// compareAnswers returns the facts that at least one library answers, sorted.
func compareAnswers(ours, theirs answers) []Fact {
	all := maps.Clone(ours)
	maps.Copy(all, theirs)
	var facts []Fact
	for _, name := range slices.SortedFunc(maps.Keys(all), byNumbers) {
		o, asked := ours[name]
		t, askedToo := theirs[name]
		f := Fact{Name: phrase.Printable(name)}
		if asked {
			f.Ours = o.String()
		}
		if askedToo {
			f.Theirs = t.String()
		}
		switch valid, validToo := asked && o.valid(), askedToo && t.valid(); {
		case valid && validToo && o.value == t.value:
			f.Result = Same
		case valid && validToo:
			f.Result = Differs
		case valid:
			f.Result = OnlyOurs
		case validToo:
			f.Result = OnlyTheirs
		default:
			continue
		}
		facts = append(facts, f)
	}
	return facts
}

// byNumbers compares names word by word; numbers are compared by value.
func byNumbers(a, b string) int {
	return slices.CompareFunc(strings.Fields(a), strings.Fields(b), func(a, b string) int {
		m, err1 := strconv.ParseUint(strings.TrimSuffix(a, ":"), 10, 64)
		n, err2 := strconv.ParseUint(strings.TrimSuffix(b, ":"), 10, 64)
		if err1 == nil && err2 == nil {
			return cmp.Compare(m, n)
		}
		return strings.Compare(a, b)
	})
}

// maxChain bounds the regions and the tasks around a thread. The helper has the same bound.
const maxChain = 32

// walk asks package ompd the questions that the helper asks the library.
type walk struct {
	p    *ompd.Process
	lwps []callbacks.ThreadID
	as   answers
}

// askAll returns our answers to all questions.
func askAll(p *ompd.Process, lwps []callbacks.ThreadID) answers {
	w := walk{p, lwps, answers{}}
	version, err := p.OMPVersion()
	w.add("OpenMP version", version, err)
	w.variables("", handles.Subject{Scope: handles.ScopeAddressSpace})
	for _, lwp := range lwps {
		w.thread(lwp)
	}
	return w.as
}

// add adds an answer.
func (w walk) add(name string, value any, err error) {
	w.as.add(name, answer{ompd.RCOf(err), fmt.Sprint(value)})
}

// thread asks the questions about a thread.
func (w walk) thread(lwp callbacks.ThreadID) {
	subject := fmt.Sprintf("thread %d: ", lwp.Value)
	h, err := w.p.ThreadHandle(lwp)
	w.add(subject+"OpenMP thread", "yes", err)
	if err != nil {
		return
	}
	pthread, err := w.p.ThreadID(h, callbacks.ThreadIDPthread)
	w.add(subject+"pthread", fmt.Sprintf("%#x", pthread.Value), err)
	state, err := w.p.State(h, nil)
	w.add(subject+"state", state.State, err)
	w.add(subject+"wait identifier", fmt.Sprintf("%#x", state.WaitID), err)
	w.variables(subject, handles.Subject{Scope: handles.ScopeThread, Thread: h})
	region, err := w.p.CurrentParallel(h)
	for k := 0; err == nil && k < maxChain; k++ {
		w.region(fmt.Sprintf("thread %d region %d: ", lwp.Value, k), region, pthread)
		region, err = w.p.EnclosingParallel(region)
	}
	task, err := w.p.CurrentTask(h)
	for k := 0; err == nil && k < maxChain; k++ {
		w.task(fmt.Sprintf("thread %d task %d: ", lwp.Value, k), task)
		task, err = w.p.GeneratingTask(task)
	}
}

// region asks the questions about a region of a thread. The members are facts of the thread with number 0.
func (w walk) region(subject string, h handles.Parallel, pthread callbacks.ThreadID) {
	w.variables(subject, handles.Subject{Scope: handles.ScopeParallel, Parallel: h})
	size, err := w.p.NumThreads(h)
	if err != nil {
		return
	}
	for n := range min(size, len(w.lwps)) {
		id := callbacks.ThreadID{}
		member, err := w.p.ThreadInParallel(h, n)
		if err == nil {
			id, err = w.p.ThreadID(member, callbacks.ThreadIDPthread)
		}
		if n == 0 && id != pthread {
			return
		}
		w.add(fmt.Sprintf("%smember %d", subject, n), fmt.Sprintf("%#x", id.Value), err)
	}
}

// task asks the questions about a task of a thread.
func (w walk) task(subject string, h handles.Task) {
	function, err := w.p.TaskFunction(h)
	w.add(subject+"function", fmt.Sprintf("%#x", function.Offset), err)
	frame, err := w.p.TaskFrame(h)
	w.add(subject+"exit frame", fmt.Sprintf("%#x", frame.Exit.Offset), err)
	w.add(subject+"enter frame", fmt.Sprintf("%#x", frame.Enter.Offset), err)
	w.variables(subject, handles.Subject{Scope: handles.ScopeImplicitTask, Task: h})
	w.variables(subject, handles.Subject{Scope: handles.ScopeTask, Task: h})
}

// variables asks for the control variables of a scope, as integers, or else as text.
func (w walk) variables(subject string, s handles.Subject) {
	for i, v := range w.p.ICVs() {
		if v.Scope != s.Scope {
			continue
		}
		value, err := w.p.ICVFromScope(s, i+1)
		if rc := ompd.RCOf(err); rc == callbacks.OK || rc == callbacks.Incomplete {
			w.add(subject+v.Name, value, nil)
			continue
		}
		text, err := w.p.ICVStringFromScope(s, i+1)
		w.add(subject+v.Name, text, err)
	}
}
