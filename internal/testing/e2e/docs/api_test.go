package docs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/ompd"
)

// services are the .proto files with services, in the order of the page.
var services = []string{"inspection_service", "trace_service", "debugger_service", "ompd_service"}

// service is a service of a .proto file.
type service struct {
	name, doc string
	methods   []method
}

// method is a call of a service.
type method struct {
	name, doc string
	streams   string // the sides that send several messages
}

// Lines of .proto files.
var (
	serviceLine = regexp.MustCompile(`^service (\w+) \{`)
	methodLine  = regexp.MustCompile(`^  rpc (\w+)\((stream )?\w+\) returns \((stream )?\w+\);`)
	commentLine = regexp.MustCompile(`^ *// ?(.*)`)
)

// readServices returns the services of a .proto file.
func readServices(t *testing.T, name string) (list []service) {
	t.Helper()
	var comment []string
	for line := range strings.Lines(readFile(t, "proto/ompd/v1/"+name+".proto")) {
		line = strings.TrimRight(line, "\n")
		if m := commentLine.FindStringSubmatch(line); m != nil {
			comment = append(comment, m[1])
			continue
		}
		if m := serviceLine.FindStringSubmatch(line); m != nil {
			list = append(list, service{name: m[1], doc: strings.Join(comment, "\n")})
		} else if m := methodLine.FindStringSubmatch(line); m != nil {
			s := &list[len(list)-1]
			streams := map[[2]bool]string{{true, false}: "client", {false, true}: "server", {true, true}: "both"}
			s.methods = append(s.methods, method{name: m[1], doc: strings.Join(comment, " "),
				streams: streams[[2]bool{m[2] != "", m[3] != ""}]})
		}
		comment = nil
	}
	if len(list) == 0 {
		t.Fatalf("%s.proto has no service", name)
	}
	return list
}

// routineName matches the name of a routine at the start of a comment.
var routineName = regexp.MustCompile(`^ompd_\w+`)

// meaning returns the comment of a method without its name.
func (m method) meaning() string {
	text, _ := strings.CutPrefix(m.doc, m.name+" ")
	text, _ = strings.CutPrefix(text, "is ")
	if routine := routineName.FindString(text); routine != "" {
		return "`" + routine + "`" + text[len(routine):]
	}
	return upper(text)
}

// grpcPage returns the page of the services.
func grpcPage(t *testing.T) string {
	p := newPage("gRPC", "proto/ompd/v1/*.proto", "Call the tool from another program, or lend it the callbacks of a "+
		"debugger ([debuggers](../guide/debuggers.md)). `ompd-inspect serve` is the server; the messages, with a "+
		"comment for each field, are in the .proto files. Elements are only added: `proto/ompd/v1/api.txt` lists them "+
		"all.")
	var list [][]string
	for _, file := range services {
		for _, s := range readServices(t, file) {
			first, _, _ := strings.Cut(strings.ReplaceAll(s.doc, "\n", " "), ". ")
			list = append(list, []string{fmt.Sprintf("[%s](#%s)", s.name, anchor(s.name)),
				fmt.Sprintf("[%s.proto](../../proto/ompd/v1/%s.proto)", file, file),
				upper(strings.TrimPrefix(strings.TrimSuffix(first, "."), s.name+" "))})
		}
	}
	p.table([]string{"service", "file", "use"}, list)
	for _, file := range services {
		for _, s := range readServices(t, file) {
			p.text("## " + s.name)
			p.text(paragraphs(s.doc))
			var rows [][]string
			for _, m := range s.methods {
				rows = append(rows, []string{"`" + m.name + "`", m.streams, m.meaning()})
			}
			p.notedTable([]string{"call", "stream", "meaning"}, rows)
		}
	}
	return p.String()
}

// paragraphs returns a comment as Markdown: indented lines become a block.
func paragraphs(doc string) string {
	var out []string
	for text := range strings.SplitSeq(doc, "\n\n") {
		if strings.HasPrefix(text, "  ") {
			text = "```\n" + strings.ReplaceAll(text[2:], "\n  ", "\n") + "\n```"
		} else {
			text = strings.ReplaceAll(text, "\n", " ")
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n\n")
}

// Parts of the header of OMPD's C interface: a group of routines, a routine, and a routine of a later standard.
var (
	groupLine   = regexp.MustCompile(`^/\* (.*)\. \*/$`)
	routineLine = regexp.MustCompile(`(?s)^ompd_rc_t (ompd_\w+)\(.*\);(?: /\* ([0-9.]+) \*/)?$`)
)

// ompdPage returns the page of OMPD's routines: those of the C interface, with the comments of the service that
// has the same routines.
func ompdPage(t *testing.T) string {
	p := newPage("OMPD routines", "libompd/omp-tools.h, proto/ompd/v1/ompd_service.proto and package ompd",
		"Look up a routine of OMPD (OpenMP 5.0 to 6.0) and its answer. All of them work through `libompd.so` "+
			"([other OMPD tools](../guide/ompd.md)), through gRPC (`OmpdService`) and in Go (package `ompd`), on "+
			"stripped runtimes too. On GNU's libgomp, which has no OMPD, they give what its memory shows.")
	p.text("A missing answer is a [return code](#return-codes), and a conflict of two sources an error; no " +
		"answer is a guess.")
	answers := map[string]method{}
	for _, s := range readServices(t, "ompd_service") {
		for _, m := range s.methods {
			routine, answer, found := strings.Cut(m.meaning(), ": ")
			routine = routineName.FindString(strings.TrimPrefix(routine, "`"))
			if !found || routine == "" {
				t.Errorf("ompd_service.proto: the comment of %s names no routine: %s", m.name, m.doc)
			}
			m.doc = upper(answer)
			answers[routine] = m
		}
	}
	_, header, _ := strings.Cut(readFile(t, "libompd/omp-tools.h"), "} ompd_callbacks_t;")
	var rows [][]string
	flush := func() {
		if len(rows) > 0 {
			p.notedTable([]string{"routine", "call of OmpdService", "answer"}, rows)
		}
		rows = nil
	}
	routines := 0
	for text := range strings.SplitSeq(joinLines(header), "\n") {
		if m := groupLine.FindStringSubmatch(text); m != nil {
			flush()
			p.text("## " + m[1])
		} else if m := routineLine.FindStringSubmatch(text); m != nil {
			call, found := answers[m[1]]
			if !found {
				t.Errorf("ompd_service.proto has no call for %s", m[1])
			}
			delete(answers, m[1])
			if m[2] != "" {
				call.doc += " (since OpenMP " + m[2] + ")"
			}
			rows = append(rows, []string{"`" + m[1] + "`", "`" + call.name + "`", call.doc})
			routines++
		}
	}
	flush()
	const least = 37 // OpenMP 5.2's routines
	if routines < least {
		t.Errorf("%d routines in omp-tools.h, want at least %d", routines, least)
	}
	for name, m := range answers {
		rows = append(rows, []string{"`" + name + "`", "`" + m.name + "`", m.doc})
	}
	p.text("## Routines of the draft of 2013")
	p.text("Package `ompd` and `OmpdService` have these, the C library has not. " +
		"[The names of the specifications](../history/ompt-names.md) lists all names of the drafts.")
	flush()
	p.text("## Return codes")
	for rc := callbacks.OK; rc <= callbacks.IncompatibleHandle; rc++ {
		rows = append(rows, []string{"`" + rc.String() + "`", strconv.Itoa(int(rc)), upper(ompd.ErrorString(rc))})
	}
	p.table([]string{"code", "number", "meaning"}, rows)
	return p.String()
}

// joinLines joins the lines of declarations that have several.
func joinLines(c string) string {
	return regexp.MustCompile(`,\n +`).ReplaceAllString(c, ", ")
}
