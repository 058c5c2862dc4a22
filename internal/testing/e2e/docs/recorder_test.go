package docs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Parts of recorder/format.h.
var (
	defineLine = regexp.MustCompile(`^#define (\w+) ([^/]+?)(?: /\* (.*) \*/)?$`)
	typeLine   = regexp.MustCompile(`^(enum|struct)(?: (\w+))? \{$`)
	fieldLine  = regexp.MustCompile(`^((?:struct )?\w+) (.+?);(?: +/\* (.*) \*/)?$`)
	arrayName  = regexp.MustCompile(`^(\w+)(?:\[(\w+)\])?$`)
	valueLine  = regexp.MustCompile(`^(\w+) = ([^,/]+?),?(?: +/\* (.*) \*/)?$`)
)

// sizes are the sizes of C types in bytes, which are their alignments too.
var sizes = map[string]int{"char": 1, "int8_t": 1, "uint8_t": 1, "uint32_t": 4, "uint64_t": 8}

// formatReader makes the page of the recorder's format from its header.
type formatReader struct {
	*page
	t         *testing.T
	constants map[string]int
	sizes     map[string]int // of types
	macros    [][]string
}

// recorderPage returns the page of the recorder's format: the constants, enumerations and structures of its header.
func recorderPage(t *testing.T) string {
	r := &formatReader{newPage("Recorder format", "recorder/format.h", "Read the events that the recorder leaves in "+
		"the memory of a program, in a core or a process, with a program of your own. "+
		"[The recorder's internals](../internals/recorder.md#records) has the meaning of each event, and the order of "+
		"reads while the threads write."), t, map[string]int{}, map[string]int{}, nil}
	for name, size := range sizes {
		r.sizes[name] = size
	}
	text := joinComments(readFile(t, "recorder/format.h"))
	var doc string
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch m := typeLine.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "/* "):
			if doc = strings.TrimSuffix(strings.TrimPrefix(line, "/* "), " */"); strings.HasPrefix(doc, "format.h:") {
				r.text(upper(strings.TrimSpace(strings.TrimPrefix(doc, "format.h:"))))
				doc = ""
			}
		case strings.HasPrefix(line, "#define RECORDER_"):
			m := defineLine.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			if m[3] == "" {
				m[3], doc = doc, ""
			}
			r.macros = append(r.macros, []string{"`" + m[1] + "`", "`" + m[2] + "`", m[3]})
		case m != nil:
			end := i + 1
			for lines[end] != "};" {
				end++
			}
			if m[1] == "enum" {
				r.enum(m[2], doc, lines[i+1:end])
			} else {
				r.structure(m[2], doc, lines[i+1:end])
			}
			i, doc = end, ""
		case line == "" && doc != "":
			r.text(doc)
			doc = ""
		}
	}
	r.text("## Macros")
	r.notedTable([]string{"macro", "value", "meaning"}, r.macros)
	for name, want := range map[string]string{"recorder_ring": "RECORDER_RING_HEADER",
		"recorder_record": "RECORDER_RECORD_SIZE"} {
		if r.sizes["struct "+name] != r.constants[want] || r.constants[want] == 0 {
			t.Errorf("struct %s has %d bytes here, and %s is %d", name, r.sizes["struct "+name], want,
				r.constants[want])
		}
	}
	return r.String()
}

// joinComments joins the lines of each comment of C.
func joinComments(c string) string {
	return regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllStringFunc(c, func(comment string) string {
		var words []string
		for line := range strings.Lines(comment) {
			if line = strings.TrimSpace(line); line != "*/" {
				line = strings.TrimPrefix(line, "*")
			}
			words = append(words, strings.Fields(line)...)
		}
		return strings.Join(words, " ")
	})
}

// enum adds an enumeration.
func (r *formatReader) enum(name, doc string, lines []string) {
	var rows [][]string
	for _, line := range lines {
		m := valueLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			r.t.Errorf("format.h: %q is no value of an enumeration", line)
			continue
		}
		n := r.number(m[2])
		r.constants[m[1]] = n
		rows = append(rows, []string{"`" + m[1] + "`", strconv.Itoa(n), upper(m[3])})
	}
	if name == "" {
		name = "Constants"
	} else {
		name = "enum " + name
	}
	r.declaration(name, doc)
	r.notedTable([]string{"name", "value", "meaning"}, rows)
}

// declaration adds the heading of a declaration, and its comment without its name.
func (r *formatReader) declaration(name, doc string) {
	r.text("## " + name)
	for _, start := range []string{name + " is ", strings.TrimPrefix(name, "struct ") + " is "} {
		doc = strings.TrimPrefix(doc, start)
	}
	if doc != "" {
		r.text(upper(doc))
	}
}

// number returns the value of a constant expression: a number, a shift, or a name.
func (r *formatReader) number(text string) int {
	if a, b, found := strings.Cut(text, " << "); found {
		return r.number(a) << r.number(b)
	}
	if n, known := r.constants[text]; known {
		return n
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		r.t.Errorf("format.h: %q is no number", text)
	}
	return n
}

// structure adds a structure with the offsets of its fields.
func (r *formatReader) structure(name, doc string, lines []string) {
	var rows [][]string
	offset, widest, above := 0, 1, ""
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if comment, found := strings.CutPrefix(line, "/* "); found {
			above = strings.TrimSuffix(comment, " */")
		}
		if line == "" || strings.HasPrefix(line, "/*") {
			continue
		}
		m := fieldLine.FindStringSubmatch(line)
		if m == nil || r.sizes[m[1]] == 0 {
			r.t.Errorf("format.h: %q is no field", line)
			continue
		}
		if m[3] == "" {
			m[3] = above
		}
		above = ""
		size := r.sizes[m[1]]
		align := min(size, 8)
		widest = max(widest, align)
		for _, declared := range strings.Split(m[2], ", ") {
			d := arrayName.FindStringSubmatch(declared)
			count, kind := 1, m[1]
			if d[2] != "" {
				count = r.number(d[2])
				kind += fmt.Sprintf("[%s]", d[2])
			}
			offset = (offset + align - 1) / align * align
			rows = append(rows, []string{"`" + d[1] + "`", strconv.Itoa(offset), "`" + kind + "`", upper(m[3])})
			offset += size * count
		}
	}
	size := (offset + widest - 1) / widest * widest
	r.sizes["struct "+name] = size
	r.declaration("struct "+name, doc)
	r.text(fmt.Sprintf("It has %d bytes.", size))
	r.notedTable([]string{"field", "offset", "type", "meaning"}, rows)
}
