package live

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// maxRehearsals is the number of times that a question is asked of the running program before the
// first stop, if each answer is an error: a changing structure may have hidden the memory after it.
const maxRehearsals = 2

// maxStops is the number of stops for copies before the program is stopped during the whole answer. Programs
// with stable structures need one or two.
const maxStops = 4

// recent is the maximum age of the mappings for a rehearsal: mappings that Open has just read are
// not read again. After the stop they are.
const recent = 50 * time.Millisecond

// Pause describes the cost of an answer for the process, and the uncertain parts of the answer.
type Pause struct {
	// Threads is the largest number of threads that were stopped at once; 0 without a stop.
	Threads int
	// Duration is the total time of all stops, each from the first stopped thread to the last
	// resumed one. Longest is the time of the longest stop.
	Duration, Longest time.Duration
	// Stops is the number of stops.
	Stops int
	// Held means that the copies were never complete, because the program moved its structures, and
	// that the process was stopped during the last answer.
	Held bool
	// Unsettled holds the addresses of words that changed while they were read, each of 8 bytes. It
	// is empty if the process was stopped.
	Unsettled []callbacks.Address
	// Stranded holds the threads that wait in code that is no longer mapped. No thread was stopped, because a
	// stop would kill the process.
	Stranded []callbacks.ThreadID
	// Holder is the process of this project that traces this one, such as that of a Program. No thread was
	// stopped, because a process has one tracer. It is empty without such a process.
	Holder string
	// Releasable means that Holder detaches when [Release] asks it to.
	Releasable bool
	// Suspended means that a signal (SIGSTOP, Ctrl-Z) had stopped the process before the look.
	Suspended bool
	// Running holds the threads with missing or uncertain registers: no thread was stopped, or they were in
	// uninterruptible sleep during the stop and woke up.
	Running []callbacks.ThreadID
}

// addStop adds a stop.
func (p *Pause) addStop(threads int, d time.Duration) {
	p.Threads = max(p.Threads, threads)
	p.Duration += d
	p.Longest = max(p.Longest, d)
	p.Stops++
}

// Look answers the question f from one snapshot of the process. It calls f several times, each time
// with another target, which also is a callbacks.RegisterReader, ModuleLister and MappingLister;
// the result of the last call is the answer, and its target stays valid until Close. Earlier calls
// only find out which memory f reads; their errors do not count. If copies are never complete, f is
// called while the process is stopped; the target then is a [StoppedTarget] whose IsHeld returns true, and f
// should not take long.
//
// No thread is stopped if the process was opened with NoStop, if a debugger has stopped it, if a
// [Program] of another process holds it, or if a stop would kill it; Pause then lists the uncertain
// parts.
//
// The error is that of the last call of f, or an *Error: ErrExited, ErrExec, ErrTraced,
// ErrPermission, ErrStuck. Between Stop and Resume, f is called once.
func (p *Process) Look(ctx context.Context, f func(callbacks.Target) error) (Pause, error) {
	return p.LookPrepared(ctx, f, f)
}

// LookPrepared is Look for a question f that costs more than reading its memory: prepare reads that
// memory and is called instead of f while answers do not count.
func (p *Process) LookPrepared(ctx context.Context, prepare, f func(callbacks.Target) error) (Pause, error) {
	pause, _, err := p.lookPrepared(ctx, prepare, f)
	return pause, err
}

// lookPrepared is LookPrepared. It returns the memory that f has read, too.
func (p *Process) lookPrepared(ctx context.Context, prepare, f func(callbacks.Target) error) (Pause, wanted, error) {
	if h := p.currentHold(); h != nil {
		all, _ := h.view.roster() // it is complete
		return Pause{Threads: len(all.threads)}, wanted{}, f(h.view)
	}
	p.dropFixedPages()
	if time.Since(p.read) > recent {
		if err := p.refresh(); err != nil {
			return Pause{}, wanted{}, p.exitReason(err)
		}
	}
	l := &looker{p: p, ctx: ctx, prepare: prepare, f: f, want: wanted{blockSet{}, map[uint64]uint64{}}}
	if fields, err := statFields(procPath(p.pid, "stat")); err == nil {
		l.pause.Suspended = fields[0] == "T"
	}
	for again, n := true, 0; again && n < maxRehearsals; n++ {
		var err error
		if again, err = l.rehearse(); err != nil {
			return l.pause, l.want, p.exitReason(err)
		}
	}
	if p.prepared != nil {
		p.prepared()
	}
	unstopped, holder, err := p.waitForHolder()
	if err != nil {
		return l.pause, l.want, err
	}
	if holder.isOurs() {
		l.pause.Holder, l.pause.Releasable = holder.String(), holder.releasable
	}
	look := l.answerStopped
	if unstopped || len(l.pause.Stranded) > 0 {
		look = l.answerUnstopped
	}
	answer, err := look()
	if e := new(Error); errors.As(err, &e) && e.holder.isOurs() { // a process of this project has just seized it
		l.pause.Holder, l.pause.Releasable = e.holder.String(), e.holder.releasable
		answer, err = l.answerUnstopped()
	}
	if err != nil {
		return l.pause, l.want, p.exitReason(err)
	}
	return l.pause, l.want, answer
}

// BeforeStop sets a function that each look calls when it knows the needed memory, before the stop and the
// copy. The rehearsal's memory is free by then.
func (p *Process) BeforeStop(f func()) { p.prepared = f }

// exitReason returns the end of the process as the reason of an error, if it has ended.
func (o *opened) exitReason(err error) error {
	if end := o.endReason(); end != nil {
		return end
	}
	return err
}

// looker is one call of Look.
type looker struct {
	p          *Process
	ctx        context.Context
	prepare, f func(callbacks.Target) error
	want       wanted
	pause      Pause
}

// rehearse prepares the question on the running process, to find the memory that it reads. The
// answer is discarded, because memory that changes while it is read may be inconsistent. It reports
// whether to rehearse again.
func (l *looker) rehearse() (again bool, err error) {
	if err := l.ctx.Err(); err != nil {
		return false, err
	}
	r := l.p.newReader(nil, nil)
	threads := l.p.peekAhead(r)
	again = l.prepare(l.p.newView(r, threads)) != nil
	all, err := threads()
	if err != nil {
		return false, err
	}
	l.want.addRehearsed(r, all.threads)
	r.dropPages()
	if l.pause.Stranded, err = l.p.findStranded(all.threads); err != nil {
		return false, err
	}
	return again, l.p.endReason()
}

// peekAhead lists the threads without stopping them, and reads ahead the memory that an answer will
// read of them. It runs on another processor while the answer starts with work that does not depend
// on threads.
func (p *Process) peekAhead(r *reader) func() (*roster, error) {
	list := sync.OnceValues(func() (*roster, error) {
		threads, err := p.peek()
		if err != nil {
			return nil, err
		}
		r.readAhead(threads)
		return newRoster(threads), nil
	})
	go runContained(func() { _, _ = list() })
	return list
}

// answerStopped answers from copies that were made while all threads were stopped. An answer may need memory
// that the copy lacks: it is read while the threads run, and the next stop copies it, too. If nothing that the
// answer has read is different then, the answer is that of the later stop. Otherwise the question is asked
// again.
func (l *looker) answerStopped() (answer, err error) {
	var last *reader
	var lastThreads []thread
	for range maxStops {
		before, _ := l.p.lastLayout()
		s, threads, err := l.p.capture(l.ctx, l.want, &l.pause, nil)
		if errors.Is(err, ErrTooBig) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := l.p.refresh(); err != nil {
			return nil, err
		}
		if end := l.p.endReason(); end != nil {
			return nil, end
		}
		r := l.p.newReader(s, nil)
		r.before = before
		l.pause.Running = runningThreads(threads)
		if last != nil && sameRegisters(lastThreads, threads) && last.readsAlike(r) {
			last.replaceCopies(s)
			return answer, nil
		}
		v := l.p.newView(r, rosterOf(threads))
		answer = l.f(v)
		if len(r.missed) == 0 && !v.lacksVectors {
			return answer, nil
		}
		l.want.addMissed(r)
		if last = nil; !v.lacksVectors {
			last, lastThreads = r, threads
		}
	}
	return l.answerHeld()
}

// sameRegisters reports whether the threads of two stops are the same, with the same registers, all known.
func sameRegisters(a, b []thread) bool {
	return slices.EqualFunc(a, b, func(a, b thread) bool {
		return a.lwp == b.lwp && a.regs == b.regs && a.err == nil && b.err == nil && bytes.Equal(a.vectors, b.vectors)
	})
}

// answerHeld answers while all threads are stopped.
func (l *looker) answerHeld() (answer, err error) {
	l.pause.Held = true
	err = l.p.runStopped(l.ctx, &l.pause, func(t *tracer) error {
		if err := l.p.refresh(); err != nil {
			return err
		}
		threads := t.stoppedThreads(l.p)
		l.pause.Running = runningThreads(threads)
		v := l.p.newView(l.p.newReader(nil, nil), rosterOf(threads))
		v.held = true
		answer = l.f(v)
		return nil
	})
	return answer, err
}

// answerUnstopped answers from two successive copies, made while the threads run or while another tracer
// has stopped them.
func (l *looker) answerUnstopped() (answer, err error) {
	for round := 1; ; round++ {
		a, b, threads, err := l.p.captureTwice(l.want)
		if err != nil {
			return nil, err
		}
		if end := l.p.endReason(); end != nil {
			return nil, end
		}
		r := l.p.newReader(a, b)
		answer = l.f(l.p.newView(r, rosterOf(threads)))
		l.pause.Running = runningThreads(threads)
		l.pause.Unsettled = r.changedWords(round == maxStops)
		if len(r.missed) == 0 || round == maxStops {
			return answer, nil
		}
		l.want.addMissed(r)
	}
}

// runningThreads returns the threads with missing or uncertain registers.
func runningThreads(threads []thread) []callbacks.ThreadID {
	var list []callbacks.ThreadID
	for _, t := range threads {
		if t.err != nil {
			list = append(list, callbacks.LWP(t.lwp))
		}
	}
	return list
}

// changedWords returns the words that changed while they were read. In the last round, blocks that
// were read once are not compared.
func (r *reader) changedWords(last bool) []callbacks.Address {
	words := maps.Clone(r.changed)
	if last {
		for a := range r.missed.all {
			words[a] = struct{}{}
		}
	}
	var list []callbacks.Address
	for _, a := range slices.Sorted(maps.Keys(words)) {
		list = append(list, callbacks.Addr(a))
	}
	return list
}
