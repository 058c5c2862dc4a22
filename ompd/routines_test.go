package ompd

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// specified lists the routines of OpenMP 5.2, sections 20.5.1 to 20.5.10, in its order. Those of 6.0 have the
// same names.
var specified = strings.Fields(`
	ompd_initialize ompd_get_api_version ompd_get_version_string ompd_finalize
	ompd_process_initialize ompd_device_initialize ompd_rel_address_space_handle
	ompd_get_device_thread_id_kinds ompd_get_omp_version ompd_get_omp_version_string
	ompd_get_thread_in_parallel ompd_get_thread_handle ompd_rel_thread_handle
	ompd_thread_handle_compare ompd_get_thread_id ompd_get_device_from_thread
	ompd_get_curr_parallel_handle ompd_get_enclosing_parallel_handle ompd_get_task_parallel_handle
	ompd_rel_parallel_handle ompd_parallel_handle_compare
	ompd_get_curr_task_handle ompd_get_generating_task_handle ompd_get_scheduling_task_handle
	ompd_get_task_in_parallel ompd_rel_task_handle ompd_task_handle_compare
	ompd_get_task_function ompd_get_task_frame
	ompd_enumerate_states ompd_get_state
	ompd_get_display_control_vars ompd_rel_display_control_vars
	ompd_enumerate_icvs ompd_get_icv_from_scope ompd_get_icv_string_from_scope ompd_get_tool_data`)

// drafted maps the routines of the 2013 draft, section 8, to their sections, except for those in renamed.
var drafted = map[string]string{
	"ompd_get_breakpoints": "8.9",
	"ompd_get_threads":     "8.2.1", "ompd_get_implicit_task_in_parallel": "8.2.3",
	"ompd_get_num_procs": "8.3", "ompd_get_thread_limit": "8.3",
	"ompd_get_num_threads": "8.4.1", "ompd_get_level": "8.4.1", "ompd_get_active_level": "8.4.1",
	"ompd_get_parallel_id": "8.4.2", "ompd_get_parallel_function": "8.4.2",
	"ompd_get_max_threads": "8.6.1", "ompd_get_thread_num": "8.6.1", "ompd_in_parallel": "8.6.1",
	"ompd_in_final":    "8.6.1",
	"ompd_get_dynamic": "8.6.1", "ompd_get_nested": "8.6.1", "ompd_get_max_active_levels": "8.6.1",
	"ompd_get_schedule": "8.6.1", "ompd_get_proc_bind": "8.6.1",
	"ompd_get_version_compatibility": "8.7", "ompd_get_error_string": "8.8", "ompd_display_control_vars": "8.10",
}

// renamed lists the routines of the draft that the standard has under another name.
var renamed = []string{"ompd_get_innermost_parallel_region", "ompd_get_top_parallel_region", "ompd_get_top_task_region",
	"ompd_get_ancestor_task_handle", "ompd_get_osthread"}

// source returns the package's exported functions and methods by name.
func source(t *testing.T) (map[string]*ast.FuncDecl, string) {
	t.Helper()
	funcs := map[string]*ast.FuncDecl{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	comments := ""
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.IsExported() {
				funcs[fn.Name.Name] = fn
			}
		}
		for _, c := range f.Comments {
			comments += c.Text()
		}
	}
	return funcs, comments
}

// TestEverySpecifiedRoutine compares the methods with the specification: each routine has exactly one method,
// with a doc comment that starts with its name.
func TestEverySpecifiedRoutine(t *testing.T) {
	funcs, comments := source(t)
	first := regexp.MustCompile(`^\w+ is (ompd_\w+)( of (the )?2013| \(2013)?`)
	current, old := map[string]string{}, map[string]string{}
	for name, fn := range funcs {
		m := first.FindStringSubmatch(strings.ReplaceAll(fn.Doc.Text(), "\n", " "))
		if m == nil {
			continue
		}
		where := current
		if m[2] != "" {
			where = old
			if s, ok := drafted[m[1]]; ok && !strings.Contains(strings.ReplaceAll(fn.Doc.Text(), "\n", " "), "section "+
				s) {
				t.Errorf("%s does not name section %s of the draft", name, s)
			}
		}
		if other := where[m[1]]; other != "" {
			t.Errorf("%s is both %s and %s", m[1], other, name)
		}
		where[m[1]] = name
		if used := literals(fn); len(used) > 0 && !slices.Contains(used, m[1]) {
			t.Errorf("%s is %s, but its errors name %q", name, m[1], used)
		}
	}
	if len(specified) != 37 {
		t.Fatalf("the test's list has %d routines, want 37", len(specified))
	}
	for _, c := range specified {
		if current[c] == "" {
			t.Errorf("%s has no method", c)
		}
		delete(current, c)
	}
	delete(old, "ompd_get_thread_in_parallel") // the standard has the name, too, for one member
	for c := range drafted {
		if old[c] == "" {
			t.Errorf("%s of the 2013 draft has no method", c)
		}
		delete(old, c)
	}
	for _, c := range renamed {
		if !strings.Contains(comments, c) {
			t.Errorf("no comment says where %s of the 2013 draft is", c)
		}
	}
	if len(current)+len(old) > 0 {
		t.Errorf("methods for routines that no specification has: %v %v", current, old)
	}
}

// literals returns the routine names in the body of fn.
func literals(fn *ast.FuncDecl) []string {
	var names []string
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(l.Value, `"ompd_`) {
			names = append(names, strings.Trim(l.Value, `"`))
		}
		return true
	})
	return names
}

// things has one argument of each type for the routines.
type things struct {
	thread   handles.Thread
	parallel handles.Parallel
	task     handles.Task
}

// calls has one call of every routine that takes an address space or a handle. After a call with valid things
// the only error is the one in wantRC.
var calls = map[string]func(p *Process, x things) error{
	"ompd_device_initialize": func(p *Process, _ things) error {
		_,
			err := p.DeviceInitialize(2, []byte{0})
		return err
	},
	"ompd_get_device_thread_id_kinds": func(p *Process, _ things) error { _, err := p.ThreadIDKinds(); return err },
	"ompd_get_omp_version":            func(p *Process, _ things) error { _, err := p.OMPVersion(); return err },
	"ompd_get_omp_version_string":     func(p *Process, _ things) error { _, err := p.OMPVersionString(); return err },
	"ompd_get_thread_in_parallel": func(p *Process, x things) error {
		_,
			err := p.ThreadInParallel(x.parallel, 0)
		return err
	},
	"ompd_get_thread_handle": func(p *Process, _ things) error {
		_,
			err := p.ThreadHandle(callbacks.LWP(101))
		return err
	},
	"ompd_rel_thread_handle": func(p *Process, x things) error { return p.ReleaseThread(x.thread) },
	"ompd_thread_handle_compare": func(p *Process, x things) error {
		_,
			err := p.CompareThreads(threadA, x.thread)
		return err
	},
	"ompd_get_thread_id": func(p *Process, x things) error {
		_, err := p.ThreadID(x.thread, callbacks.ThreadIDPthread)
		return err
	},
	"ompd_get_device_from_thread": func(p *Process, x things) error {
		_,
			err := p.ThreadDevice(x.thread)
		return err
	},
	"ompd_get_curr_parallel_handle": func(p *Process, x things) error {
		_,
			err := p.CurrentParallel(x.thread)
		return err
	},
	"ompd_get_enclosing_parallel_handle": func(p *Process, x things) error {
		_,
			err := p.EnclosingParallel(x.parallel)
		return err
	},
	"ompd_get_task_parallel_handle": func(p *Process, x things) error {
		_,
			err := p.TaskParallel(x.task)
		return err
	},
	"ompd_rel_parallel_handle": func(p *Process, x things) error { return p.ReleaseParallel(x.parallel) },
	"ompd_parallel_handle_compare": func(p *Process, x things) error {
		_,
			err := p.CompareParallels(region0, x.parallel)
		return err
	},
	"ompd_get_curr_task_handle": func(p *Process, x things) error {
		_,
			err := p.CurrentTask(x.thread)
		return err
	},
	"ompd_get_generating_task_handle": func(p *Process, x things) error {
		_,
			err := p.GeneratingTask(x.task)
		return err
	},
	"ompd_get_scheduling_task_handle": func(p *Process, x things) error {
		_,
			err := p.SchedulingTask(x.task)
		return err
	},
	"ompd_get_task_in_parallel": func(p *Process, x things) error {
		_,
			err := p.TaskInParallel(x.parallel, 0)
		return err
	},
	"ompd_rel_task_handle": func(p *Process, x things) error { return p.ReleaseTask(x.task) },
	"ompd_task_handle_compare": func(p *Process, x things) error {
		_,
			err := p.CompareTasks(initial, x.task)
		return err
	},
	"ompd_get_task_function": func(p *Process, x things) error {
		_,
			err := p.TaskFunction(x.task)
		return err
	},
	"ompd_get_task_frame": func(p *Process, x things) error {
		_,
			err := p.TaskFrame(x.task)
		return err
	},
	"ompd_enumerate_states": func(p *Process, _ things) error {
		_, _,
			err := p.NextState(handles.StateUndefined)
		return err
	},
	"ompd_get_state": func(p *Process, x things) error {
		_,
			err := p.State(x.thread, &handles.Evidence{})
		return err
	},
	"ompd_get_display_control_vars": func(p *Process, _ things) error {
		_,
			err := p.DisplayControlVars()
		return err
	},
	"ompd_rel_display_control_vars": func(p *Process,
		_ things) error {
		return p.ReleaseDisplayControlVars([]string{})
	},
	"ompd_enumerate_icvs": func(p *Process, _ things) error { _, _, _, err := p.NextICV(0); return err },
	"ompd_get_icv_from_scope": func(p *Process, x things) error {
		_, err := p.ICVFromScope(handles.Subject{Scope: handles.ScopeTask, Task: x.task}, 3)
		return err
	},
	"ompd_get_icv_string_from_scope": func(p *Process, x things) error {
		_, err := p.ICVStringFromScope(handles.Subject{Scope: handles.ScopeParallel, Parallel: x.parallel}, 9)
		return err
	},
	"ompd_get_tool_data": func(p *Process, x things) error {
		_, err := p.ToolData(handles.Subject{Scope: handles.ScopeThread, Thread: x.thread})
		return err
	},
	"ompd_rel_address_space_handle": func(p *Process, _ things) error { return p.Release() },
}

var valid = things{threadB, region1, explicit}

// ofLibrary lists the routines that are not in calls.
var ofLibrary = specified[:5]

func TestEveryRoutineChecksItsHandle(t *testing.T) {
	if n := len(calls) + len(ofLibrary); n != len(specified) {
		t.Fatalf("%d routines are called, of %d", n, len(specified))
	}
	misused := map[string]things{
		"null handle": {},
		"handle of address space": {handles.Thread{Stamp: handles.Stamp{Space: 9, Epoch: 7}, Info: threadA.Info},
			handles.Parallel{Stamp: handles.Stamp{Space: 9, Epoch: 7}, Team: region1.Team},
			handles.Task{Stamp: handles.Stamp{Space: 9, Epoch: 7}, Data: initial.Data}},
		"handle of stop 6": {handles.Thread{Stamp: handles.Stamp{Space: 3, Epoch: 6}, Info: threadA.Info},
			handles.Parallel{Stamp: handles.Stamp{Space: 3, Epoch: 6}, Team: region1.Team},
			handles.Task{Stamp: handles.Stamp{Space: 3, Epoch: 6}, Data: initial.Data}},
		"null handle: ompd_rc_sta": {handles.Thread{Stamp: stamp}, handles.Parallel{Stamp: stamp, Level: 1},
			handles.Task{Stamp: stamp, Level: 1}},
	}
	asked := 0
	for _, c := range slices.Sorted(maps.Keys(calls)) {
		wantRC(t, calls[c](fake(), valid), map[string]callbacks.RC{"ompd_device_initialize": callbacks.Unsupported}[c])
		for text, x := range misused {
			err := calls[c](fake(), x)
			var of *Error
			if !errors.As(err, &of) || of.RC != callbacks.StaleHandle {
				continue // it takes only the address space
			}
			asked++
			if of.Routine != c || !strings.Contains(err.Error(), c+"(") || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want the routine, the handle and %q", c, err, text)
			}
		}
	}
	if asked != len(misused)*22 {
		t.Errorf("%d stale handles, want %d", asked, len(misused)*22)
	}
}

// TestEveryRoutineChecksItsAddressSpace calls all routines on an address space that is nil, was released, or
// belongs to a finalised library.
func TestEveryRoutineChecksItsAddressSpace(t *testing.T) {
	released := fake()
	if err := released.Release(); err != nil {
		t.Fatal(err)
	}
	finalised := fake()
	finalised.session = new(session)
	finalised.session.over.Store(true)
	for name, p := range map[string]*Process{"nil": nil, "zero": {}, "released": released, "finalised": finalised} {
		for c, call := range calls {
			err := call(p, valid)
			var of *Error
			if !errors.As(err, &of) || of.RC != callbacks.StaleHandle || of.Routine != c {
				t.Errorf("%s, %s: %v; want a stale handle", name, c, err)
			}
		}
	}
}
