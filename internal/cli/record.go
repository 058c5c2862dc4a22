package cli

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// recorderLibrary is the file name of the recorder.
const recorderLibrary = "libompd-recorder.so"

// recorderVariable is the environment variable with the path of the recorder.
const recorderVariable = "OMPD_RECORDER_LIBRARY"

// recorderPlaces lists the directories of the recorder relative to the executable: that of a build, and that of
// an installation.
var recorderPlaces = []string{".", "../lib/ompd-inspect"}

// leastRecorded is the smallest memory for rings, in bytes (MEMORY_MIN of recorder/recorder.c).
const leastRecorded = 256 << 10

// recordFlags contains the flags of record that run does not have.
type recordFlags struct {
	memory  sizeValue
	events  string
	library string
	runtime string
	version string // version of the tool
}

// recordVerb returns the verb record.
func (a *app) recordVerb() *cobra.Command {
	r := &runner{app: a, ended: map[int]bool{}, kept: map[int]bool{}}
	rec := &recordFlags{memory: 64 << 20, version: a.Version}
	cmd := &cobra.Command{
		Use: "record [flags] -- PROGRAM [ARG...]", Short: "Run a program, and keep its last OpenMP events in its " +
			"memory",
		Long: `Runs a program with the recorder: a library that keeps the last OpenMP events of each
thread in the program's memory, with the thread's current activity and the locks it holds.
ompd-inspect reads them from a core file or from the running program.

The program replaces this command in the same process. Therefore its signals and its exit
status are its own, and gdb, strace or ` + "`ompd-inspect PID`" + ` can attach to it. With
--save, --core, --report or --hang-after, this command stays and traces the program, as run
does: it reports crashes and hangs, and no other debugger can attach.

In programs that use LLVM's runtime, the recorder is loaded as an OMPT tool
(OMP_TOOL_LIBRARIES); another tool in that variable gets all events after it. In programs
that use GCC's runtime, the recorder is preloaded (LD_PRELOAD) and intercepts the calls to
libgomp. A program that was linked with -static is not recorded. Processes that the program
starts are recorded in the same way.

--runtime=libomp runs a program of GCC on LLVM's runtime in place of GNU's. LLVM's runtime
reports its events itself, with more detail about barriers, tasks and loops. This is refused
if LLVM's runtime lacks a function that the program calls, in the version that it needs.

--save FILE writes the recorded events when a process ends, is about to die of a signal
(except SIGKILL), or makes no progress for the time of --hang-after. Further processes
write to FILE.PID. ` + "`ompd-inspect trace FILE`" + ` reads it. FILE is a small core file that
contains only the memory of the recorder.

The library is ` + recorderLibrary + `: the file of --library, else of ` + recorderVariable + `,
else the one in the directory of this command or in ../lib/ompd-inspect relative to it. If
there is none, this command builds it once, with the C compiler cc, in the user's cache.

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
				return usageError{fmt.Errorf("--memory %v: it must be at least %d KB", &rec.memory, leastRecorded>>10)}
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
			return r.run(cmd.Context(), args)
		},
	}
	r.addFlags(cmd)
	rec.addFlags(cmd, &r.save)
	return cmd
}

// holds reports whether the flags need a tracer of the program: to see its end, its deadly signals, and its
// hangs.
func (r *runner) holds() bool {
	return r.save != "" || r.core != "" || r.report != "" || r.hangAfter != 0
}

// replace executes the program in place of this process. The program then handles its signals and job control
// itself, has its own exit status, and debuggers can attach to it.
func (r *runner) replace(ctx context.Context, argv []string) error {
	if !r.Alone {
		return errors.New("record: the program would replace a process that does more")
	}
	r.Interrupts.giveUp()
	if err := ctx.Err(); err != nil { // Ctrl-C came before the program started
		return err
	}
	path, err := exec.LookPath(argv[0])
	if err == nil || errors.Is(err, exec.ErrDot) {
		err = &os.PathError{Op: "exec", Path: path, Err: unix.Exec(path, argv, r.env)}
	}
	fmt.Fprintf(r.Stderr, "ompd-inspect: %v\n", err)
	return startStatus(err)
}

// addFlags adds the flags that run does not have.
func (rec *recordFlags) addFlags(cmd *cobra.Command, save *string) {
	cmd.Flags().Var(&rec.memory, "memory", "limit of the memory for events in each process")
	cmd.Flags().StringVar(&rec.events, "events", "default",
		"events to record: default, all, locks, tasks or none, then OMPT callbacks to add or remove, such as "+
			"default,+dispatch,-work")
	cmd.Flags().StringVar(&rec.library, "library", "", "the recorder, in place of the installed "+
		recorderLibrary)
	cmd.Flags().StringVar(&rec.runtime, "runtime", "",
		"libomp, or its file: run a program of GCC on LLVM's runtime")
	cmd.Flags().StringVar(save, "save", "",
		"write the recorded events to this file when a process ends, dies or hangs")
}

// eventSets and eventNames list the words that OMPD_RECORDER accepts (recorder/selection.c).
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

// checkEvents returns an error for names of events that the recorder does not know.
func checkEvents(list string) error {
	for word := range strings.SplitSeq(list, ",") {
		name := strings.TrimLeft(word, "+-")
		if len(word)-len(name) > 1 || !slices.Contains(eventSets, name) && !slices.Contains(eventNames, name) {
			return fmt.Errorf("--events: %q is neither one of %s nor + or - and a name of OMPT, such as +dispatch",
				word, strings.Join(eventSets, ", "))
		}
	}
	return nil
}

// environment returns the environment for a program that is recorded.
func (rec *recordFlags) environment(program string, old []string) ([]string, error) {
	library, err := rec.find()
	if err != nil {
		return nil, err
	}
	env := environ(slices.Clone(old))
	if strings.EqualFold(strings.TrimSpace(env.get("OMP_TOOL")), "disabled") {
		return nil, errors.New("OMP_TOOL=disabled is set: nothing would be recorded; unset OMP_TOOL")
	}
	tools := slices.DeleteFunc(strings.Split(env.get("OMP_TOOL_LIBRARIES"), ":"), func(path string) bool {
		return path == "" || path == library // set by an outer `ompd-inspect record`
	})
	if len(tools) > 0 {
		env.set("OMPD_RECORDER_NEXT", strings.Join(tools, ":"))
	}
	env.set("OMP_TOOL_LIBRARIES", library)
	env.set("OMPD_RECORDER", rec.events)
	env.set("OMPD_RECORDER_MEMORY", fmt.Sprint(int64(rec.memory)))
	if rec.runtime != "" {
		return rec.withLLVM(program, env)
	}
	if !onlyLLVM(program) {
		env.preload(library)
	}
	return env, nil
}

// preload makes the loader load a library before those of the program. GCC's address sanitizer then is not the first,
// which it takes for an error; the recorder defines none of the functions that it intercepts.
func (e *environ) preload(library string) {
	e.set("LD_PRELOAD", strings.TrimSuffix(library+":"+e.get("LD_PRELOAD"), ":"))
	e.set("ASAN_OPTIONS", strings.TrimSuffix("verify_asan_link_order=0:"+e.get("ASAN_OPTIONS"), ":"))
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
		return "", fmt.Errorf("the recorder: %s: the loader accepts no path with a space or a colon; copy the file "+
			"and name "+
			"the copy by --library", path)
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

// onlyLLVM reports whether a program is linked with LLVM's runtime and not with GNU's. It returns false for a
// script and for a program that loads a runtime later.
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

// isStatic reports whether a program is linked statically: then no loader loads the recorder.
func isStatic(program string) bool {
	path, err := exec.LookPath(program)
	if err != nil {
		return false
	}
	f, closer, err := elfx.OpenPath(path)
	if err != nil {
		return false // a script
	}
	defer closer.Close()
	return !slices.ContainsFunc(f.Progs(), func(p elf.ProgHeader) bool { return p.Type == elf.PT_INTERP })
}

// isPrivileged reports whether the kernel changes the user or the group when a program starts: then the loader preloads
// no library of a path.
func isPrivileged(program string) bool {
	path, err := exec.LookPath(program)
	if err != nil {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0
}

// environ is an environment, as a list of NAME=value.
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
