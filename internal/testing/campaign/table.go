package main

// campaign is a set of tests with options. Each test also runs with few rounds, or is skipped, without a campaign.
type campaign struct {
	name, checks, needs, time string

	options []option
	// setup are commands that run before the tests. $NAME is the value of an option.
	setup [][]string
	// tests are regular expressions of whole names, and packages have at least one test of each.
	tests, packages []string
}

// option is a flag of a campaign, which its tests read by omptest.Option.
type option struct{ name, value, usage string }

// Options of several campaigns.
var (
	seed      = option{"seed", "", "the first seed (default: the time)"}
	directory = option{"dir", "/tmp/ompd-inspect-applications", "the `directory` for the programs"}
	keep      = option{"keep", "", "the `directory` for the pictures of failures"}
)

const endToEnd = "./internal/testing/e2e/"

// campaigns lists the campaigns in the order of the help.
var campaigns = []campaign{
	{
		name: "soak", checks: "looks at busy programs disturb nothing and find no hang, also when the tool is killed",
		needs: "gcc, clang, strace", time: "hours",
		options: []option{
			{"looks", "10000", "looks at each of two busy programs"},
			{"inside", "250", "looks in each container, and under strace"},
			{"kills", "1000", "looks at each of two programs during which the tool is killed"},
			{"verdicts", "3000", "looks for verdicts"},
			{"handovers", "200", "looks at each build of a program with lock handovers"},
			{"watched", "2000", "looks by watch on a busy machine"},
			{"runs", "100", "programs under run on a busy machine"},
			keep,
		},
		tests: []string{
			"TestManyRoundsDisturbNothing", "TestChurn", "TestKilledTool", "TestWatchHealthy", "TestRunHealthy",
			"TestForkLoopUnderLooks",
			"TestRestlessProgramsUnderLooks", "TestRestlessProgramsUnderKilledLooks",
			"TestRestlessProgramsInContainers", "TestForkLoopUnderKilledLooks", "TestNoFalseAlarms",
			"TestHandoverIsNoHang", "TestUnreleasedBarrier",
		},
		packages: []string{"./live", endToEnd + "live", endToEnd + "verdicts"},
	},
	{
		name: "states", checks: "states that a look infers are those that the recorder noted",
		needs: "gcc, clang", time: "hours",
		options: []option{{"states", "100000", "looks at recorded programs"}},
		tests:   []string{"TestRecordedStates"}, packages: []string{endToEnd + "record"},
	},
	{
		name: "python",
		checks: "each stack of running Python threads is one that the program can have; no look at programs with " +
			"numpy, scikit-learn, PyTorch and numba finds a hang",
		needs: "python3, Debian's packages", time: "2 h",
		options: []option{
			{"looks", "500", "looks at a program with two busy threads"},
			{"libraries", "1000", "looks at all programs with libraries together"},
		},
		tests: []string{"TestPythonRunning", "TestPythonLibraries"}, packages: []string{endToEnd + "report"},
	},
	{
		name: "generated", checks: "answers about random programs are those that their threads noted",
		needs: "compilers", time: "1 h for 10,000",
		options: []option{
			{"programs", "10000", "random programs"}, seed,
			{"workers", "", "programs at a time (default: the processors)"},
			{"keep", "/tmp/ompd-inspect-generated", "the `directory` for failed programs, made small"},
			{"shrink", "", "failed programs of each kind that are made small"},
			{"only", "", "run only the program of this seed, built as after the same -seed"},
			{"times", "", "runs of that program"},
			{"stop", "", "end when this `file` exists"},
		},
		tests: []string{"TestGenerated"}, packages: []string{"./internal/testing/generated"},
	},
	{
		name: "kept", checks: "the failed programs that generated kept no longer fail", needs: "compilers",
		time:    "minutes",
		options: []option{{"kept", "/tmp/ompd-inspect-generated", "the `directory` with the programs"}},
		tests:   []string{"TestKept"}, packages: []string{"./internal/testing/generated"},
	},
	{
		name:   "applications",
		checks: "no look at programs of Debian, or at the project's small applications, finds a hang",
		needs:  "compilers, Debian's packages", time: "hours",
		options:  []option{directory, {"looks", "3000", "looks at all programs together"}},
		setup:    [][]string{{"testdata/applications/build.sh", "$dir"}},
		tests:    []string{"TestHealthyApplications"},
		packages: []string{endToEnd + "report"},
	},
	{
		name: "interleaved",
		checks: "no look at a healthy program finds a hang while its threads are held at random instructions; each " +
			"task that the runtime counts is listed",
		needs: "gcc, clang; x86-64", time: "10 min",
		options: []option{
			{"rounds", "20", "rounds of 32 looks for each construct and compiler"}, seed,
			{"construct", "", "only this construct of testdata/interleaved.c"}, keep,
		},
		tests:    []string{"TestInterleaved", "TestTakenTasks"},
		packages: []string{endToEnd + "live"},
	},
	{
		name:   "bugs",
		checks: "the verdict names each bug that a small application can have, and a healthy build has none",
		needs:  "compilers", time: "10 min",
		options:  []option{{"builds", "4", "builds of each program, by compiler and optimization: 1 to 4"}},
		tests:    []string{"TestInjectedBugs", "TestApplicationsWithoutBugs"},
		packages: []string{endToEnd + "verdicts"},
	},
	{
		name: "hostile", checks: "damaged and malicious files, kills, and abuse of the listeners: no panic, no hang, " +
			"no wrong exit status, bounded memory", needs: "gcc, clang; root for other users", time: "hours",
		options: []option{
			{"cores", "100000", "golden cores with changes"},
			{"interpreters", "2000", "cores of Python and R with changes"},
			{"pictures", "10000", "saved pictures with changes"},
			{"messages", "10000", "answers of the nodes of a job with changes"}, seed,
			{"kills", "500", "looks at each of two programs during which the tool is killed"},
			{"signals", "2000", "starts of run and record with a signal at a random moment"},
			{"time", "10m", "the time of the server's abuse"},
		},
		tests: []string{
			"TestMutants", "TestInterpreterMutants", "TestKeptMutants", "TestMutatedPictures", "TestMutatedMessages",
			"TestCoreBombs", "TestFileBombs", "TestKilledTool", "TestForkLoopUnderKilledLooks",
			"TestRestlessProgramsUnderKilledLooks", "TestServerSoak", "TestOtherUser.*", "TestRunEarlySignals",
		},
		packages: []string{
			"./internal/testing/mutate", "./internal/jobs/job", "./live", endToEnd + "live", endToEnd + "server",
			"./internal/cli",
		},
	},
	{
		name: "cores", checks: "the part of hostile that changes golden cores", needs: "Go", time: "hours",
		options: []option{{"cores", "100000", "golden cores with changes"}, seed},
		tests:   []string{"TestMutants"}, packages: []string{"./internal/testing/mutate"},
	},
	{
		name: "server", checks: "the part of hostile that abuses a server, with its use of resources",
		needs: "gcc", time: "10 min",
		options: []option{{"time", "10m", "the time of the abuse"}},
		tests:   []string{"TestServerSoak"}, packages: []string{endToEnd + "server"},
	},
	{
		name: "recorder", checks: "no record of 64 threads that write at once is torn or missing",
		needs: "gcc", time: "1 h",
		options: []option{{"records", "1000000000", "records that are read"}},
		tests:   []string{"TestWritersSoak"}, packages: []string{"./internal/testing/recordtest"},
	},
	{
		name:   "arm64",
		checks: "pictures and verdicts of processes and cores on a machine for aarch64 are those of x86-64",
		needs:  "compilers, qemu-system-arm, Debian's packages", time: "2 h",
		options: []option{
			{"lanes", "all", "starts of the names of builds, with commas; all: each of them"},
			{"programs", "", "a `pattern` that the names of programs with their arguments match (default: all)"},
			{"cpus", "2", "processors of the machine"},
			{"gcore", "", "with any value, also a core that gdb writes of each running program"},
		},
		tests:    []string{"TestMachineReports", "TestMachineVerdicts", "TestMachineLanguages"},
		packages: []string{endToEnd + "report", endToEnd + "verdicts"},
	},
	{
		name: "ompd-suite", checks: "LLVM's own tests of OMPD pass with LLVM's library and with ours",
		needs: "Debian, root, network", time: "1 h",
		options: []option{
			{"dir", "/tmp/ompd-inspect-ompd-suite", "the `directory` for the builds"},
			{"release", "19", "the release of LLVM"},
		},
		setup: [][]string{{"make", "libompd.so"}, {"testdata/ompd-suite/run.sh", "$dir", "$release"}},
	},
	{
		name:   "editors",
		checks: "pages in a browser, the extension in VS Code, and the adapters in Neovim and Vim",
		needs:  "npm, and the programs of its options", time: "10 min",
		options: []option{
			{"browser", "", "a `program` such as chromium"},
			{"code-server", "", "VS Code as a `program` for a browser"},
			{"nvim-dap", "", "the `directory` of Neovim's plugin nvim-dap"},
			{"vim-go", "", "the `directory` of Vim's plugin vim-go"},
			{"keep", "", "the `directory` for screenshots"},
		},
		setup: [][]string{
			{"npm", "--prefix", "editors/vscode", "ci"}, {"npm", "--prefix", "editors/vscode", "run", "package"},
		},
		tests: []string{"TestBrowser.*", "TestNvim.*", "TestVimGo", "TestVSCodeExtension"},
		packages: []string{
			"./internal/print/web", "./internal/cli", endToEnd + "fronts",
		},
	},
}
