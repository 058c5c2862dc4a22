package dap

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// view contains the result of one snapshot, with the client's numbers.
type view struct {
	pic     *picture.Picture
	config  Attach
	client  greeting
	ids     *ids
	order   []*thread       // in the client's order
	byID    map[int]*thread // by the client's number
	lwps    map[int]*thread
	shown   map[int]*frame // frames that were sent to the client
	nodes   map[int]node   // nodes with parts that were sent to the client
	sources map[string]*godap.Source
	// libraries contains the libraries on the stacks; nil until they are needed.
	libraries []library
	// recorded returns the newest n recorded events of a thread, the newest first.
	recorded func(lwp, n int) ([]picture.Event, error)
}

// ids counts frames and variables. No number is used twice in a session, so that numbers of an earlier snapshot
// are recognized.
type ids struct{ last int }

func (i *ids) next() int {
	i.last++
	return i.last
}

// goneThreads is the first number of threads that only the runtime knows: they have no LWP.
const goneThreads = 1 << 30

// thread is a thread as the client shows it.
type thread struct {
	*picture.Thread
	id    int
	stack []*frame // nil until it is requested
	// valued contains its frames with their values; nil until one of them is requested.
	valued []picture.Frame
}

// newView makes the view of a picture.
func newView(pic *picture.Picture, c Attach, client greeting, counter *ids) *view {
	v := &view{
		pic: pic, config: c, client: client, ids: counter,
		byID: map[int]*thread{}, lwps: map[int]*thread{}, shown: map[int]*frame{}, nodes: map[int]node{},
		sources: map[string]*godap.Source{},
	}
	for i := range pic.Threads {
		t := &thread{Thread: &pic.Threads[i], id: pic.Threads[i].LWP}
		if t.id == 0 {
			t.id = goneThreads + i
		}
		v.order = append(v.order, t)
		v.byID[t.id], v.lwps[t.LWP] = t, t
	}
	v.sort()
	return v
}

// sort sorts the threads by region, outer ones first, and by their numbers there. Threads outside of all
// regions come last.
func (v *view) sort() {
	place := map[picture.ID]int{}
	for i, r := range v.pic.Regions {
		place[r.ID] = i
	}
	region := func(t *thread) int {
		if i, ok := place[t.Region]; ok && t.ThreadNum != nil {
			return i
		}
		if t.Role == picture.RoleNone {
			return len(place) + 1
		}
		return len(place)
	}
	slices.SortStableFunc(v.order, func(x, y *thread) int {
		return cmp.Or(
			cmp.Compare(region(x), region(y)),
			cmp.Compare(sortKey(x.ThreadNum), sortKey(y.ThreadNum)), cmp.Compare(x.id, y.id),
		)
	})
}

// sortKey returns a number that may be missing; missing ones come first.
func sortKey(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}

// firstThread returns the thread that the client should show: the one that crashed, or the first of the worst
// verdict.
func (v *view) firstThread() int {
	if t := v.lwps[v.pic.Target.CrashedLWP]; t != nil && t.LWP != 0 {
		return t.id
	}
	if r, ok := v.reason(); ok && r.verdict != nil && len(r.verdict.Threads) > 0 {
		if t := v.lwps[r.verdict.Threads[0]]; t != nil {
			return t.id
		}
	}
	if len(v.order) > 0 {
		return v.order[0].id
	}
	return 0
}

// header describes the target in one line.
func (v *view) header() string {
	t := v.pic.Target
	s := fmt.Sprintf("%s %s", t.Kind, t.Name())
	if t.Executable != "" {
		s += " of " + t.Executable
	}
	for _, r := range v.pic.Runtimes {
		s += ", " + strings.TrimSpace(r.Name+" "+r.Version)
	}
	return fmt.Sprintf("%s, %d threads", s, t.Threads)
}

// threads returns the threads in the protocol's form.
func (v *view) threads(context.Context, nothing) (godap.ThreadsResponseBody, error) {
	body := godap.ThreadsResponseBody{Threads: make([]godap.Thread, len(v.order))}
	for i, t := range v.order {
		body.Threads[i] = godap.Thread{Id: t.id, Name: v.threadName(t)}
	}
	return body, nil
}

// threadName returns the client's name of a thread: "OMP 2/4 hang.c:10 · wait_lock journal". The place comes before
// the state, because a narrow view cuts the end.
func (v *view) threadName(t *thread) string {
	s := "LWP " + strconv.Itoa(t.LWP)
	switch {
	case t.LWP == 0:
		s = "gone"
	case t.Hidden:
		s = "OMP helper"
	case t.Role == picture.RoleNone:
	case t.ThreadNum == nil:
		s = "OMP " + string(t.Role)
	default:
		s = "OMP " + t.numbers()
	}
	if t.Name != "" {
		s += " " + t.Name
	}
	at, activity := t.place(), v.activity(t)
	switch {
	case at != "" && activity != "":
		return s + " " + at + " · " + activity
	case at+activity != "":
		return s + " " + at + activity
	}
	return s
}

// activity returns the thread's state, and the object of its wait or the signal that it got.
func (v *view) activity(t *thread) string {
	var words []string
	if t.State != nil && (t.Role != picture.RoleIdle || t.State.Name != picture.StateIdle) {
		words = append(words, string(t.State.Name))
	}
	if t.WaitName != "" {
		words = append(words, t.WaitName)
	}
	if t.Crashed && v.pic.Target.Signal != "" {
		words = append(words, v.pic.Target.Signal)
	}
	return strings.Join(words, " ")
}

// numbers returns the thread's number and the size of its team at each level: "0/2 > 1/3".
func (t *thread) numbers() string {
	var parts []string
	for _, l := range t.Levels {
		if (l.Level > 0 || len(t.Levels) == 1) && l.ThreadNum != nil && l.TeamSize != nil {
			parts = append(parts, fmt.Sprintf("%d/%d", *l.ThreadNum, *l.TeamSize))
		}
	}
	if len(parts) > 0 {
		return strings.Join(parts, " > ")
	}
	s := strconv.Itoa(*t.ThreadNum)
	if t.TeamSize != nil {
		s += "/" + strconv.Itoa(*t.TeamSize)
	}
	return s
}

// place returns the thread's place in the program: "hang.c:10", or the function.
func (t *thread) place() string {
	if f := t.innermostFrame(); f != nil && f.File != "" && f.Line != 0 {
		return f.Place()
	} else if f != nil {
		return f.Function
	}
	for _, f := range t.UserStack {
		if f.Kind != picture.FramePseudo && f.Function != "" {
			return f.Function
		}
	}
	return ""
}

// innermostFrame returns the thread's innermost frame in the program's own code; nil without one.
func (t *thread) innermostFrame() *picture.Frame {
	if i := picture.InnermostUser(t.UserStack); i >= 0 {
		return &t.UserStack[i]
	}
	return nil
}

// describeThreads names threads: "threads 0 and 1" if they belong to one team, else "LWP 455, 458".
func (v *view) describeThreads(lwps []int) string {
	var nums, ids []string
	var region picture.ID
	for i, lwp := range lwps {
		ids = append(ids, strconv.Itoa(lwp))
		t := v.lwps[lwp]
		if t == nil || t.ThreadNum == nil || i > 0 && t.Region != region {
			continue
		}
		region = t.Region
		nums = append(nums, strconv.Itoa(*t.ThreadNum))
	}
	switch {
	case len(nums) < len(lwps) && len(lwps) == 1:
		return "LWP " + ids[0]
	case len(nums) < len(lwps):
		return "LWPs " + joinWords(ids)
	case len(nums) == 1:
		return "thread " + nums[0]
	}
	return "threads " + joinWords(nums)
}

// maxListed is the number of threads that one line lists.
const maxListed = 8

// joinWords returns a list such as "0, 1 and 2".
func joinWords(words []string) string {
	if more := len(words) - maxListed; more > 0 {
		words = append(slices.Clone(words[:maxListed]), fmt.Sprintf("%d more", more))
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// ThreadNames returns the names of a picture's threads as editors show them, by LWP.
func ThreadNames(pic *picture.Picture) map[int]string {
	v := newView(pic, Attach{}, greeting{}, &ids{})
	out := map[int]string{}
	for _, t := range v.order {
		out[t.LWP] = v.threadName(t)
	}
	return out
}
