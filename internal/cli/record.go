package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// recorderLibrary is the file name of the recorder.
const recorderLibrary = "libompd-recorder.so"

// recorderVariable names the environment variable with the path of the recorder.
const recorderVariable = "OMPD_RECORDER_LIBRARY"

// recorderPlaces are the directories of the recorder, from that of the executable: a build, and an installation.
var recorderPlaces = []string{".", "../lib/ompd-inspect"}

// leastRecorded is the least memory for rings, in bytes (MEMORY_MIN of recorder/recorder.c).
const leastRecorded = 256 << 10

// recordFlags are the flags of record, beside those of run.
type recordFlags struct {
	memory  sizeValue
	events  string
	library string
	runtime string
	version string // of the tool
}

// recordVerb runs a program with the recorder.
func (a *app) recordVerb() *cobra.Command {
	r := &runner{app: a, ended: map[int]bool{}, kept: map[int]bool{}}
	rec := &recordFlags{memory: 64 << 20, version: a.Version}
	cmd := &cobra.Command{
		Use: "record [flags] -- PROGRAM [ARG...]", Short: "Run a program, and keep its last OpenMP events in its " +
			"memory",
		Long: `Runs a program with the recorder: a library that keeps the last OpenMP events of each
thread in the program's memory, with what each thread is doing and which locks it has.
They are read from outside, in a core of it or while it runs.

The program takes the place of this command, in the same process, so that its signals and
its exit status are its own, and gdb, strace or ` + "`ompd-inspect PID`" + ` can attach to it. With
--save, --core, --report or --hang-after, this command stays and holds the program, as run
does: it reports crashes and hangs, and no other debugger can attach.

Programs of LLVM's runtime load the library as a tool (OMP_TOOL_LIBRARIES); another tool
that is named there sees all events after it. For programs of GCC it is preloaded
(LD_PRELOAD), and takes the calls of libgomp's functions. A program that was linked with
-static is not recorded. Both hold for the processes that the program starts, too.

--runtime=libomp runs a program of GCC on LLVM's runtime in place of GNU's, which tells its
events itself: of barriers, tasks and loops more than calls show. It is refused if LLVM's
runtime lacks a function that the program calls, with the version that it wants.

--save FILE writes what was recorded, to be read by ` + "`ompd-inspect trace FILE`" + `: as a
process ends, is about to die of a signal but SIGKILL, or makes no progress for the time
of --hang-after; of further processes into FILE.PID. It is a small core file, with the
memory of the recorder alone.

The library is ` + recorderLibrary + `: that of --library, else of ` + recorderVariable + `,
else the one beside this command or in ../lib/ompd-inspect from there. If there is none,
this command builds it once, with the C compiler cc, in the user's cache.

Exit status: the program's own, or that of run if this command stays; 125, 126 and 127 as
those of run.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("record: which program? `ompd-inspect record -- ./program arguments`")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.usable("record"); err != nil {
				return err
			}
			if rec.memory < leastRecorded {
				return usageError{fmt.Errorf("--memory %v: it is at least %d KB", &rec.memory, leastRecorded>>10)}
			}
			if err := checkEvents(rec.events); err != nil {
				return usageError{err}
			}
			env, err := rec.environment(args[0], os.Environ())
			if err != nil {
				fmt.Fprintf(r.Stderr, "ompd-inspect: record: %v\n", err)
				return statusError(ExitOwn)
			}
			r.env = env
			if !r.holds() {
				return r.replace(cmd.Context(), args)
			}
			return r.run(context.WithoutCancel(cmd.Context()), args) // signals are the program's
		},
	}
	r.flags(cmd)
	rec.flags(cmd, &r.save)
	return cmd
}

// holds reports whether flags ask for what only a tracer of the program sees: its end, its
// deadly signals, and its hangs.
func (r *runner) holds() bool {
	return r.save != "" || r.core != "" || r.report != "" || r.hangAfter != 0
}

// replace executes the program in place of this process. So it has no part in what becomes of
// the program: its signals, job control and exit status are its own, and debuggers can attach.
func (r *runner) replace(ctx context.Context, argv []string) error {
	if !r.Alone {
		return errors.New("record: the program would replace a process that does more")
	}
	signal.Reset(os.Interrupt)
	if err := ctx.Err(); err != nil { // Ctrl-C came before
		return err
	}
	path, err := exec.LookPath(argv[0])
	if err == nil || errors.Is(err, exec.ErrDot) {
		err = &os.PathError{Op: "exec", Path: path, Err: unix.Exec(path, argv, r.env)}
	}
	fmt.Fprintf(r.Stderr, "ompd-inspect: %v\n", err)
	return startStatus(err)
}

// flags are those that run does not have.
func (rec *recordFlags) flags(cmd *cobra.Command, save *string) {
	cmd.Flags().Var(&rec.memory, "memory", "limit of the memory for events, in each process")
	cmd.Flags().StringVar(&rec.events, "events", "default",
		"default, all, locks, tasks or none, and OMPT's callbacks to add or leave out, such as default,+dispatch,-work")
	cmd.Flags().StringVar(&rec.library, "library", "", "the recorder, in place of the installed "+
		recorderLibrary)
	cmd.Flags().StringVar(&rec.runtime, "runtime", "",
		"libomp, or its file: run a program of GCC on LLVM's runtime, if that has all that it calls")
	cmd.Flags().StringVar(save, "save", "",
		"write what was recorded to this file when a process ends, dies or hangs")
}

// eventSets and eventNames are what OMPD_RECORDER takes (recorder/selection.c).
var (
	eventSets  = []string{"default", "all", "locks", "tasks", "none"}
	eventNames = []string{
		"thread_begin", "thread_end", "parallel_begin", "parallel_end", "task_create", "task_schedule", "implicit_task",
		"target", "target_data_op", "target_submit", "control_tool", "device_initialize", "device_finalize",
		"device_load", "device_unload", "sync_region_wait", "mutex_released", "dependences", "task_dependence", "work",
		"masked", "target_map", "sync_region", "lock_init", "lock_destroy", "mutex_acquire", "mutex_acquired",
		"nest_lock", "flush", "cancel", "reduction", "dispatch", "target_emi", "target_data_op_emi",
		"target_submit_emi", "target_map_emi", "error",
	}
)

// checkEvents refuses names of events that the recorder does not know.
func checkEvents(list string) error {
	for word := range strings.SplitSeq(list, ",") {
		name := strings.TrimLeft(word, "+-")
		if len(word)-len(name) > 1 || !slices.Contains(eventSets, name) && !slices.Contains(eventNames, name) {
			return fmt.Errorf("--events: %q is none of %s, nor a name of OMPT such as dispatch, behind + or -",
				word, strings.Join(eventSets, ", "))
		}
	}
	return nil
}

// environment is the environment for a program that is recorded.
func (rec *recordFlags) environment(program string, old []string) ([]string, error) {
	library, err := rec.find()
	if err != nil {
		return nil, err
	}
	env := environ(slices.Clone(old))
	if strings.EqualFold(strings.TrimSpace(env.get("OMP_TOOL")), "disabled") {
		return nil, errors.New("OMP_TOOL=disabled is set: the runtime would load no tool; unset OMP_TOOL")
	}
	tools := slices.DeleteFunc(strings.Split(env.get("OMP_TOOL_LIBRARIES"), ":"), func(path string) bool {
		return path == "" || path == library // of a record around this one
	})
	if len(tools) > 0 {
		env.set("OMPD_RECORDER_NEXT", strings.Join(tools, ":"))
	}
	env.set("OMP_TOOL_LIBRARIES", library)
	env.set("OMPD_RECORDER", rec.events)
	env.set("OMPD_RECORDER_MEMORY", fmt.Sprint(int64(rec.memory)))
	if rec.runtime != "" {
		return rec.onLLVM(program, env)
	}
	if !onlyLLVM(program) {
		env.set("LD_PRELOAD", strings.TrimSuffix(library+":"+env.get("LD_PRELOAD"), ":"))
	}
	return env, nil
}

// find returns the absolute path of the recorder.
func (rec *recordFlags) find() (string, error) {
	path := cmp.Or(rec.library, os.Getenv(recorderVariable))
	var err error
	if path == "" {
		path, err = installedRecorder()
		if errors.Is(err, fs.ErrNotExist) {
			path, err = buildRecorder(rec.version)
		}
	}
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err == nil {
		_, err = os.Stat(path)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("the recorder: %w; --library or "+recorderVariable+" names one", err)
	case strings.ContainsAny(path, ": "):
		return "", fmt.Errorf("the recorder: %s: the loader takes no path with a space or a colon; copy it, and name "+
			"it by --library", path)
	}
	return path, nil
}

// installedRecorder returns the path of the recorder that was built or installed with this executable.
func installedRecorder() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	var missing error
	for _, dir := range recorderPlaces {
		path := filepath.Join(filepath.Dir(self), dir, recorderLibrary)
		if _, err = os.Stat(path); err == nil {
			return path, nil
		}
		missing = cmp.Or(missing, err)
	}
	return "", missing
}

// onlyLLVM reports whether a program is linked with LLVM's runtime and not with GNU's. Of a
// script, or a program that loads a runtime later, nothing is known.
func onlyLLVM(program string) bool {
	path, err := exec.LookPath(program)
	if err != nil {
		return false
	}
	f, closer, err := elfx.OpenPath(path)
	if err != nil {
		return false
	}
	defer closer.Close()
	needs := func(name string) bool {
		return slices.ContainsFunc(f.Needed(), func(n string) bool { return strings.HasPrefix(n, name) })
	}
	return (needs("libomp.so") || needs("libiomp5.so")) && !needs("libgomp.so")
}

// environ is an environment, as NAME=value each.
type environ []string

func (e environ) get(name string) string {
	for _, v := range e {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

func (e *environ) set(name, value string) {
	*e = slices.DeleteFunc(*e, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	*e = append(*e, name+"="+value)
}
