package oracle

import (
	"regexp"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// situation is one program with which both libraries are compared.
type situation struct {
	program string
	env     string // one variable, or empty
}

func (s situation) environ() []string {
	if s.env == "" {
		return nil
	}
	return []string{s.env}
}

const debugOn = "OMP_DEBUG=enabled"

var situations = []situation{
	{"nested", ""}, {"nested", debugOn},
	{"serialized_nested", ""}, {"serialized_nested", debugOn},
	{"barrier", debugOn}, {"lock", debugOn}, {"roots", ""},
	{"tasks_queued", debugOn}, {"taskwait", debugOn},
	{"idle", ""}, {"idle", debugOn},
	{"teams", debugOn},
}

// compared are the routines and variables for which both libraries must have given equal answers.
const compared = `ompd_enumerate_states ompd_enumerate_icvs
	ompd_get_thread_handle ompd_get_thread_id ompd_get_state ompd_get_tool_data
	ompd_get_curr_parallel_handle ompd_get_enclosing_parallel_handle ompd_get_task_parallel_handle
	ompd_get_thread_in_parallel ompd_get_task_in_parallel
	ompd_get_curr_task_handle ompd_get_generating_task_handle
	ompd_get_task_function ompd_get_task_frame
	active-levels-var levels-var team-size-var thread-num-var debug-var dyn-var default-device-var
	max-active-levels-var thread-limit-var final-task-var implicit-task-var`

// question is one question with both answers.
type question struct {
	key          string
	theirs, ours string
	peer, own    picture
}

// routine returns the routine or variable of the question.
func (q question) routine() string {
	if strings.HasPrefix(q.key, "list/") {
		return "ompd_enumerate_icvs"
	}
	last := q.key[strings.LastIndex(q.key, "/")+1:]
	name, _, _ := strings.Cut(last, " ")
	return name
}

// explain returns the reason for libompd's other answer, or "".
func (q question) explain() string {
	for _, d := range defects {
		if d.key.MatchString(q.key) && d.theirs.MatchString(q.theirs) && d.ours.MatchString(q.ours) &&
			(d.when == nil || d.when(q)) {
			return d.why
		}
	}
	return ""
}

// thread returns the start of the key, "thread 0/".
func (q question) thread() string {
	i := strings.Index(q.key, "/")
	return q.key[:i+1]
}

// idle reports whether the thread is in no team.
func idle(q question) bool {
	return q.own[q.thread()+"ompd_get_curr_parallel_handle"].rc == callbacks.Unavailable
}

// light reports whether libompd met a light-weight team record on the way outwards from the thread.
func light(q question) bool {
	for k, a := range q.peer {
		if a.light && strings.HasPrefix(k, q.thread()) {
			return true
		}
	}
	return false
}

// shared reports whether several regions around the thread share one team structure.
func shared(q question) bool {
	teams := map[string]string{} // level by team
	for k, a := range q.own {
		rest, ok := strings.CutPrefix(k, q.thread()+"task of level ")
		if !ok || !strings.HasSuffix(k, "/ompd_get_task_parallel_handle") {
			continue
		}
		level := strings.Fields(strings.ReplaceAll(rest, "/", " "))[0]
		if other, ok := teams[a.value]; ok && other != level {
			return true
		}
		teams[a.value] = level
	}
	return false
}

// difference is a known difference between the libraries.
type difference struct {
	why               string         // as a clause: "because …"
	key, theirs, ours *regexp.Regexp // all of these must match
	when              func(question) bool
}

func differs(why, key, theirs, ours string) difference {
	whole := func(s string) *regexp.Regexp { return regexp.MustCompile("^(?:" + s + ")$") }
	return difference{why: why, key: whole(key), theirs: whole(theirs), ours: whole(ours)}
}

func (d difference) given(when func(question) bool) difference { d.when = when; return d }

// defects are all differences. Each is a defect of libompd.
var defects = []difference{
	differs("an idle thread keeps its last team, which libompd takes for the current one",
		`thread .*`, `.*`, `unavailable|not asked|idle wait 0x0`).given(idle),
	differs("libompd takes the light-weight team records of nested serialized regions in the wrong order",
		`thread \d+/(region|task) of level .*`, `.*`, `.*`).given(light),
	differs("libompd takes nested serialized regions that share a team for one",
		`thread \d+/(region|task) of level .*`, `not asked`, `.*`).given(shared),
	differs("libompd takes nested serialized regions that share a team for one, whose parent is further out",
		`thread \d+/(region|task) of level .*/ompd_get_(enclosing_parallel|generating_task)_handle`, `0x.*`,
		`0x.*`).given(shared),
	differs("libompd needs OMP_DEBUG for states",
		`.*/ompd_get_state`, `needs_state_tracking`, `(idle|work_|wait_).*`),
	differs("the runtime tracks no wait identifier for barriers, and before LLVM 17 less exact states",
		`.*/ompd_get_state`, `wait_barrier(_explicit)? wait 0x0`, `wait_barrier_explicit wait 0x.+`),
	differs("the runtime tracks no wait identifier for the barrier at a region's end, and before LLVM 17 less exact "+
		"states",
		`.*/ompd_get_state`, `wait_barrier_implicit(_parallel)? wait 0x0`, `wait_barrier_implicit_parallel wait 0x.+`),
	differs("the runtime tracks no taskwait",
		`.*/ompd_get_state`, `work_parallel wait 0x0`, `wait_taskwait wait 0x.+`),
	differs("libompd names threads by pthread_t only",
		`.*/ompd_get_thread_id 1`, `unsupported`, `0x.*`),
	differs("libompd says bad_input for a variable of another scope, which the standard calls incompatible",
		`misuse/levels-var of a thread( text)?`, `bad_input|unsupported`, `incompatible`),
	differs("libompd has no text for integer variables",
		`.*-var text`, `unsupported`, `.*`),
	differs("libompd lists variables again with the prefix ompd-",
		`.*/(ompd-.*-var)( text)?`, `.*`, `not asked`),
	differs("libompd lacks the variable",
		`.*/(available-devices|def-allocator|def-sched|device-num|explicit-task|kmp-blocktime|league-size|nteams|num-devices|place-assignment|place-partition|target-offload|team-num|teams-thread-limit|wait-policy)-var( text)?`,
		`not asked`, `.*`),
	differs("libompd gives variables of a task's data environment the scope of a thread",
		`list/(dyn|nthreads|default-device)-var`, `thread`, `task`),
	differs("libompd's list of states ends with overhead and has gaps",
		`state 0x(3|4|15|16|102)/ompd_enumerate_states`, `not asked`, `ompt_state_\w+`),
	differs("libompd says that the end of a chain is unsupported",
		`.*/ompd_get_(enclosing_parallel|generating_task)_handle`, `unsupported`, `unavailable`),
	differs("libompd gives tool data though there was no tool",
		`.*/ompd_get_tool_data`, `0x0`, `unavailable`),
	differs("libompd gives a null function for tasks that have none",
		`.*/ompd_get_task_function`, `0x0`, `unavailable`),
	differs("libompd needs OMP_DEBUG for the function of a task",
		`.*/ompd_get_task_function`, `needs_state_tracking`, `0x.*|unavailable`),
	differs("libompd shows the control variables before the environment was read",
		`space/ompd_get_display_control_vars`, `.*OMP_NUM_THREADS=undefined.*`, `.*OMP_NUM_THREADS=\d.*`),
	differs("libompd shows a chunk size of 0 for schedules that have none",
		`.*/run-sched-var text`, `static,0`, `static`),
	differs("libompd takes every nthreads-var for a list",
		`.*/nthreads-var`, `\d+ incomplete`, `\d+`),
	differs("libompd writes the policies of bind-var as numbers",
		`.*/bind-var text`, `[\d,]+`, `[a-z,]+`),
}
