// Package profile makes a profile of a process from pictures of it: the time of its threads by user-model stacks, by
// awaited thing and by place, and the conclusions.
//
// OpenMP Work and OpenMP Wait are the metrics that the collector API defines: together they are the time of all
// threads. Other than there, a thread that waits for a mutex, a device or another process waits, too.
package profile

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Limits of the different things that a series keeps. Programs have fewer; those beyond count for the sums only.
const (
	maxStacks = 1 << 14
	maxItems  = 1 << 12 // waits, places, barriers, late threads
)

// Series collects samples of a process. The zero value contains none.
type Series struct {
	profile  picture.Profile
	stacks   map[string]*picture.ProfileStack
	waits    map[waitKey]*picture.ProfileWait
	places   map[string]*place
	barriers map[string]*barrier
	alone    map[string]*picture.ProfileAlone
	cpu      float64 // of the process at the first sample
	warned   map[string]bool
	dropped  bool
	firstAt  map[int]string // of the threads in the first sample, by LWP
	moved    bool           // a thread worked, or has changed its place
}

// place is the time at one place.
type place struct {
	picture.ProfilePlace
	waits map[waitKey]float64
}

// barrier is the time at one barrier.
type barrier struct {
	picture.ProfileBarrier
	late map[int]*late
}

// late is a thread for which others waited.
type late struct {
	seconds, work float64
	at            map[string]*spot
}

// spot is the time of a late thread at one place.
type spot struct {
	frame   *picture.Frame
	seconds float64
}

// waitKey identifies an awaited thing.
type waitKey struct{ kind, name string }

// Kinds of waits that are states of a thread, and not waits for something.
const (
	kindIdle     = "idle"
	kindOverhead = "overhead"
)

// Add adds a sample. after is the time since the sample before, or since the start; own is the CPU time that this tool
// used for it.
func (s *Series) Add(pic *picture.Picture, after, own time.Duration) {
	p := &s.profile
	if s.stacks == nil {
		s.start()
		s.cpu = pic.Target.CPU
	}
	p.Target, p.Runtimes = pic.Target, pic.Runtimes
	p.Own += own.Seconds()
	for _, w := range pic.Warnings {
		s.warn(w)
	}
	if pause := pic.Target.Pause; pause != nil {
		stop := time.Duration(pause.Microseconds) * time.Microsecond
		p.Stopped, p.Longest = p.Stopped+stop.Seconds(), max(p.Longest, stop.Seconds())
		if pause.Suspended {
			return // nothing ran; the warning reports it
		}
		after -= min(after, stop)
	}
	weight := after.Seconds()
	p.Samples++
	p.Seconds += weight
	p.CPU = max(pic.Target.CPU-s.cpu, 0)
	known := slices.ContainsFunc(pic.Threads, func(t picture.Thread) bool { return !isOutside(&t) })
	counted, seen := 0, 0
	codes := regionCodes(pic)
	for i := range pic.Threads {
		t := &pic.Threads[i]
		if t.LWP == 0 || t.Hidden { // ended, or a helper of the runtime
			continue
		}
		c := classify(t)
		outside := known && isOutside(t)
		s.addStack(t, c, outside, weight)
		s.watch(t, c, outside)
		seen++
		if outside {
			s.addOutside(c, weight)
			continue
		}
		counted++
		s.addThread(t, c, codes[t.Region], weight)
	}
	s.moved = s.moved || seen != len(s.firstAt) // one has ended
	p.Threads = max(p.Threads, counted)
	p.ThreadSeconds += weight * float64(counted)
	s.addBarriers(pic, codes, weight)
	s.addAlone(pic, weight)
}

// maxWarnings bounds the different warnings of a profile.
const maxWarnings = 16

// warn adds a warning once.
func (s *Series) warn(w string) {
	if !s.warned[w] && len(s.warned) < maxWarnings {
		s.warned[w] = true
		s.profile.Warnings = append(s.profile.Warnings, w)
	}
}

// isOutside reports whether OpenMP does not know a thread.
func isOutside(t *picture.Thread) bool { return t.Role == picture.RoleNone }

// regionCodes returns the function of each parallel region; those of level 0 have none.
func regionCodes(pic *picture.Picture) map[picture.ID]*picture.Code {
	codes := map[picture.ID]*picture.Code{}
	for i := range pic.Regions {
		if r := &pic.Regions[i]; r.Level > 0 && r.Function != nil {
			codes[r.ID] = r.Function
		}
	}
	return codes
}

// class is the class of a thread's time, with the awaited thing.
type class struct {
	class picture.ProfileClass
	waitKey
}

// classify returns the class of a thread's time.
func classify(t *picture.Thread) class {
	switch {
	case t.Role == picture.RoleIdle:
		return class{picture.ProfileWaits, waitKey{kind: kindIdle}}
	case t.State == nil && t.WaitKind != "":
		return class{picture.ProfileWaits, waitKey{string(t.WaitKind), nameOf(t, t.WaitKind)}}
	case t.State == nil && isOutside(t):
		return class{class: picture.ProfileWork}
	case t.State == nil:
		return class{class: picture.ProfileUnknown}
	}
	switch name := t.State.Name; {
	case name == picture.StateUndefined:
		return class{class: picture.ProfileUnknown}
	case name == picture.StateIdle:
		return class{picture.ProfileWaits, waitKey{kind: kindIdle}}
	case name == picture.StateOverhead:
		return class{picture.ProfileWaits, waitKey{kind: kindOverhead}}
	case name.Waits():
		kind := cmp.Or(t.WaitKind, kindOf(name))
		return class{picture.ProfileWaits, waitKey{string(kind), nameOf(t, kind)}}
	}
	return class{class: picture.ProfileWork}
}

// kindOf returns the kind of the waits of threads in a state.
func kindOf(name picture.StateName) picture.WaitKind {
	for _, row := range picture.WaitKinds() {
		if row.State == name {
			return row.Kind
		}
	}
	if strings.HasPrefix(string(name), string(picture.StateBarrier)) {
		return picture.WaitBarrier
	}
	return picture.WaitKind(strings.TrimPrefix(string(name), "wait_"))
}

// nameOf returns the name of the object that a thread waits for, or its address. It is "" for objects that are new in
// each wait: turns and threads.
func nameOf(t *picture.Thread, kind picture.WaitKind) string {
	row := kind.Traits()
	switch {
	case kind == picture.WaitOrdered, kind == picture.WaitJoin, !strings.Contains(row.Phrase, "%s"):
		return ""
	case t.WaitName != "", row.NameOnly, t.WaitID == nil:
		return t.WaitName
	}
	return t.WaitID.String()
}

// addOutside adds the time of a thread that OpenMP does not know.
func (s *Series) addOutside(c class, weight float64) {
	if s.profile.Outside == nil {
		s.profile.Outside = &picture.ProfileTime{}
	}
	o := s.profile.Outside
	addTime(c.class, weight, &o.Work, &o.Wait, &o.Unknown)
}

// addTime adds time to the sum of its class.
func addTime(c picture.ProfileClass, weight float64, work, wait, unknown *float64) {
	switch c {
	case picture.ProfileWork:
		*work += weight
	case picture.ProfileWaits:
		*wait += weight
	default:
		*unknown += weight
	}
}

// addThread adds the time of a thread to the sums, to its place and to the awaited thing.
func (s *Series) addThread(t *picture.Thread, c class, region *picture.Code, weight float64) {
	p := &s.profile
	addTime(c.class, weight, &p.Work, &p.Wait, &p.Unknown)
	frame := programFrame(t)
	if c.kind == kindIdle {
		frame, region = nil, nil
	}
	key := codeKey(region) + "\n" + frameKey(frame)
	at := s.places[key]
	if at == nil {
		if s.isFull(len(s.places), maxItems) {
			return
		}
		at = &place{ProfilePlace: picture.ProfilePlace{Region: region, Frame: frame}, waits: map[waitKey]float64{}}
		s.places[key] = at
	}
	addTime(c.class, weight, &at.Work, &at.Wait, &at.Unknown)
	if c.class != picture.ProfileWaits {
		return
	}
	if !s.addWait(c.waitKey, weight) {
		return
	}
	at.waits[c.waitKey] += weight
}

// watch compares the place of a thread with that in the first sample, until one has moved.
func (s *Series) watch(t *picture.Thread, c class, outside bool) {
	if s.moved {
		return
	}
	if c.class != picture.ProfileWaits && !outside || len(t.UserStack) == 0 {
		s.moved = true
		return
	}
	var at strings.Builder
	fmt.Fprintln(&at, c)
	for i := range t.UserStack {
		f := &t.UserStack[i]
		fmt.Fprintln(&at, f.PC, frameKey(f))
	}
	before, known := s.firstAt[t.LWP]
	if s.profile.Samples == 1 {
		s.firstAt[t.LWP] = at.String()
	} else {
		s.moved = !known || before != at.String()
	}
}

// isFull reports whether a list has reached its limit, and records that for a warning.
func (s *Series) isFull(n, limit int) bool {
	s.dropped = s.dropped || n >= limit
	return n >= limit
}

// addStack adds the time of a thread to its stack.
func (s *Series) addStack(t *picture.Thread, c class, outside bool, weight float64) {
	frames := make([]picture.Frame, len(t.UserStack))
	var key strings.Builder
	fmt.Fprintln(&key, c.class, c.kind, c.name, outside)
	for i := range t.UserStack {
		frames[i] = *settled(&t.UserStack[i])
		fmt.Fprintln(&key, frameKey(&frames[i]))
	}
	st := s.stacks[key.String()]
	if st == nil {
		if s.isFull(len(s.stacks), maxStacks) {
			return
		}
		st = &picture.ProfileStack{Frames: frames, Class: c.class, Kind: c.kind, Name: c.name, Outside: outside}
		s.stacks[key.String()] = st
	}
	st.Seconds += weight
	st.Samples++
}

// settled returns a frame without the parts that differ from sample to sample: thread, goroutine, and address where
// the function has a name or an entry.
func settled(f *picture.Frame) *picture.Frame {
	out := *f
	out.LWP, out.Goroutine = 0, 0
	if f.Function == "" && f.PC != nil && f.Entry != nil {
		out.Offset -= min(f.Offset, uint64(*f.PC-*f.Entry))
	}
	if f.Function != "" || f.Entry != nil {
		out.PC = nil
	}
	if f.Function != "" {
		out.Offset, out.Entry = 0, nil
	}
	return &out
}

// frameKey is equal for frames at the same line of a function.
func frameKey(f *picture.Frame) string {
	if f == nil {
		return ""
	}
	return strings.Join([]string{string(f.Kind), f.Called(), f.File, strconv.Itoa(f.Line), f.Spot()}, "|")
}

// codeKey is equal for the same functions.
func codeKey(c *picture.Code) string {
	if c == nil {
		return ""
	}
	return strings.Join([]string{c.Called(), c.File, strconv.Itoa(c.Line)}, "|")
}

// programFrame returns the innermost frame of the program's own code in a thread's stack; nil without one.
func programFrame(t *picture.Thread) *picture.Frame {
	f, ok := phrase.InnermostUser(t.UserStack)
	if !ok {
		return nil
	}
	return settled(&f)
}

// addBarriers adds, for each barrier at which some threads of a team wait, the others of the team.
func (s *Series) addBarriers(pic *picture.Picture, codes map[picture.ID]*picture.Code, weight float64) {
	threads := map[int]*picture.Thread{}
	for i := range pic.Threads {
		if t := &pic.Threads[i]; t.LWP != 0 {
			threads[t.LWP] = t
		}
	}
	for i := range pic.Regions {
		r := &pic.Regions[i]
		at := map[*barrier]bool{}
		var missing []int // thread numbers
		for num, lwp := range r.Threads {
			t := threads[lwp]
			if t == nil {
				continue
			}
			if c := classify(t); t.Region != r.ID || c.kind != string(picture.WaitBarrier) {
				missing = append(missing, num)
			} else if b := s.barrierOf(t, codes[r.ID]); b != nil {
				b.Seconds += weight
				at[b] = true
			}
		}
		for b := range at {
			if len(missing) == 0 {
				continue
			}
			b.Span += weight
			for _, num := range missing {
				b.addLate(num, threads[r.Threads[num]], weight)
			}
		}
	}
}

// barrierOf returns the barrier at which a thread waits.
func (s *Series) barrierOf(t *picture.Thread, region *picture.Code) *barrier {
	frame := programFrame(t)
	key := codeKey(region) + "\n" + string(t.State.Name) + "\n" + frameKey(frame)
	b := s.barriers[key]
	if b == nil && !s.isFull(len(s.barriers), maxItems) {
		b = &barrier{
			picture.ProfileBarrier{Region: region, State: t.State.Name, Frame: frame}, map[int]*late{},
		}
		s.barriers[key] = b
	}
	return b
}

// addLate adds the time of a thread that has not come to a barrier.
func (b *barrier) addLate(num int, t *picture.Thread, weight float64) {
	l := b.late[num]
	if l == nil {
		if len(b.late) >= maxItems {
			return
		}
		l = &late{at: map[string]*spot{}}
		b.late[num] = l
	}
	l.seconds += weight
	if classify(t).class == picture.ProfileWork {
		l.work += weight
	}
	frame := programFrame(t)
	key := frameKey(frame)
	if l.at[key] == nil {
		if len(l.at) >= maxItems {
			return
		}
		l.at[key] = &spot{frame: frame}
	}
	l.at[key].seconds += weight
}

// addAlone adds the time of idle threads to the place of the thread that works for the whole program meanwhile: the
// initial thread.
func (s *Series) addAlone(pic *picture.Picture, weight float64) {
	idle := 0
	var initial *picture.Thread
	for i := range pic.Threads {
		t := &pic.Threads[i]
		switch c := classify(t); {
		case t.LWP == 0 || t.Hidden:
		case c.kind == kindIdle:
			idle++
		case t.Role == picture.RoleInitial && initial == nil:
			initial = t
		}
	}
	if idle == 0 || initial == nil {
		return
	}
	serial := initial.Level == nil || *initial.Level == 0
	frame := programFrame(initial)
	key := fmt.Sprint(serial, frameKey(frame))
	a := s.alone[key]
	if a == nil {
		if s.isFull(len(s.alone), maxItems) {
			return
		}
		a = &picture.ProfileAlone{Frame: frame, Serial: serial}
		s.alone[key] = a
	}
	a.Seconds += weight * float64(idle)
}

// Profile returns the profile of the samples so far. reason is "", or the reason of an end that is an error.
func (s *Series) Profile(end picture.ProfileEnd, reason error) *picture.Profile {
	p := s.profile
	p.Schema, p.End = picture.ProfileSchema, end
	p.Warnings = slices.Clone(p.Warnings)
	if reason != nil {
		p.Warnings = append(p.Warnings, "it ended early: "+reason.Error())
	}
	if s.dropped {
		p.Warnings = append(p.Warnings, "there are more stacks, places or locks than are kept: some are only in the "+
			"sums")
	}
	p.Stacks, p.Waits = []picture.ProfileStack{}, sortedWaits(nil)
	for _, st := range s.stacks {
		p.Stacks = append(p.Stacks, *st)
	}
	slices.SortFunc(p.Stacks, func(a, b picture.ProfileStack) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), slices.CompareFunc(a.Frames, b.Frames,
			func(f, g picture.Frame) int { return strings.Compare(frameKey(&f), frameKey(&g)) }),
			strings.Compare(a.Kind+a.Name, b.Kind+b.Name))
	})
	for _, w := range s.waits {
		p.Waits = append(p.Waits, *w)
	}
	slices.SortFunc(p.Waits, compareWaits)
	p.Places = s.sortedPlaces()
	p.Barriers = s.sortedBarriers()
	p.Alone = nil
	for _, key := range slices.Sorted(maps.Keys(s.alone)) {
		p.Alone = append(p.Alone, *s.alone[key])
	}
	slices.SortStableFunc(p.Alone, func(a, b picture.ProfileAlone) int { return cmp.Compare(b.Seconds, a.Seconds) })
	p.Findings = conclude(&p, !s.moved)
	return &p
}

func compareWaits(a, b picture.ProfileWait) int {
	return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), strings.Compare(a.Kind+a.Name, b.Kind+b.Name))
}

// sortedWaits returns waits, the largest first.
func sortedWaits(m map[waitKey]float64) []picture.ProfileWait {
	list := []picture.ProfileWait{}
	for key, seconds := range m {
		list = append(list, picture.ProfileWait{Kind: key.kind, Name: key.name, Seconds: seconds})
	}
	slices.SortFunc(list, compareWaits)
	return list
}

// sortedPlaces returns the places, the largest times first.
func (s *Series) sortedPlaces() []picture.ProfilePlace {
	list := []picture.ProfilePlace{}
	for _, key := range slices.Sorted(maps.Keys(s.places)) {
		at := s.places[key]
		one := at.ProfilePlace
		one.Waits = sortedWaits(at.waits)
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b picture.ProfilePlace) int {
		return cmp.Compare(b.Work+b.Wait+b.Unknown, a.Work+a.Wait+a.Unknown)
	})
	return list
}

// maxLate bounds the late threads of a barrier in a profile.
const maxLate = 16

// sortedBarriers returns the barriers, the largest times first.
func (s *Series) sortedBarriers() (list []picture.ProfileBarrier) {
	for _, key := range slices.Sorted(maps.Keys(s.barriers)) {
		b := s.barriers[key]
		one := b.ProfileBarrier
		for _, num := range slices.Sorted(maps.Keys(b.late)) {
			l := b.late[num]
			row := picture.ProfileLate{ThreadNum: num, Seconds: l.seconds, Work: l.work}
			most := 0.0
			for _, k := range slices.Sorted(maps.Keys(l.at)) {
				if at := l.at[k]; at.seconds > most {
					row.Frame, most = at.frame, at.seconds
				}
			}
			if l.seconds > 0 {
				row.Share = min(most/l.seconds, 1)
			}
			one.Late = append(one.Late, row)
		}
		slices.SortStableFunc(one.Late, func(a, b picture.ProfileLate) int {
			return cmp.Compare(b.Seconds, a.Seconds)
		})
		one.Late = one.Late[:min(len(one.Late), maxLate)]
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b picture.ProfileBarrier) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return list
}

// Doubt returns twice the standard error of a share of the thread time by n samples, from 0 to 1. It assumes the worst
// case, that all threads of a sample do the same.
func Doubt(share float64, n int) float64 {
	if n == 0 {
		return 1
	}
	return 2 * math.Sqrt(max(share*(1-share), 0)/float64(n))
}
