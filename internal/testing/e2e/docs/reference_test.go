package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
)

// pages are the generated pages of docs/reference.
var pages = map[string]func(*testing.T) string{
	"cli": cliPage, "json": jsonPage, "grpc": grpcPage, "recorder": recorderPage, "ompd": ompdPage,
	"support": supportPage,
}

// TestReference compares the generated pages with their sources.
func TestReference(t *testing.T) {
	for name, generate := range pages {
		t.Run(name, func(t *testing.T) {
			compare(t, "docs/reference/"+name+".md", generate(t))
		})
	}
}

// page collects a page in Markdown.
type page struct{ strings.Builder }

// newPage starts a generated page: its title, its sources, and what a reader can do with it.
func newPage(title, sources, purpose string) *page {
	p := new(page)
	p.text("# " + title)
	p.text("<!-- generated from " + sources + ": go generate ./internal/testing/e2e/docs -->")
	p.text(purpose)
	return p
}

// text adds a heading, a paragraph or a list.
func (p *page) text(s string) {
	if p.Len() > 0 {
		p.WriteByte('\n')
	}
	p.WriteString(strings.TrimRight(s, "\n") + "\n")
}

// table adds a table.
func (p *page) table(head []string, rows [][]string) {
	line := func(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }
	text := line(head) + strings.Repeat("|---", len(head)) + "|\n"
	for _, row := range rows {
		for i, cell := range row {
			row[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		text += line(row)
	}
	p.text(text)
}

// maxCell is the largest number of characters in a cell of a table, as the gates have it.
const maxCell = 200

// notedTable adds a table, and a list with the ends of texts that are too long for its last column.
func (p *page) notedTable(head []string, rows [][]string) {
	var notes []string
	for _, row := range rows {
		text := row[len(row)-1]
		if len(text) <= maxCell {
			continue
		}
		end := strings.LastIndex(text[:maxCell], ". ") + 1
		cell := text[:end]
		if end == 0 {
			cell = "see below"
		}
		row[len(row)-1] = cell
		notes = append(notes, fmt.Sprintf("- %s: %s", row[0], upper(strings.TrimSpace(text[end:]))))
	}
	p.table(head, rows)
	if len(notes) > 0 {
		p.text(strings.Join(notes, "\n"))
	}
}

// anchor returns the name that a heading has in links.
func anchor(heading string) string {
	return strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

var notInAnchors = regexp.MustCompile(`[^a-z0-9 _-]`)

// upper returns s with a capital first letter.
func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// cliPage returns the page of the command line: the help of each verb.
func cliPage(t *testing.T) string {
	p := newPage("Command line", "the help of the verbs", "Find a verb, and its options. "+
		"`ompd-inspect VERB --help` prints the same. Each verb has a manual page, too, such as "+
		"`man ompd-inspect-report`. The exit statuses have [a page of their own](exit-status.md).")
	var list [][]string
	var verbs []*cobra.Command
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, verb := range c.Commands() {
			if verb.IsAvailableCommand() && !verb.IsAdditionalHelpTopicCommand() {
				name := strings.TrimPrefix(verb.CommandPath(), "ompd-inspect ")
				list = append(list, []string{fmt.Sprintf("[`%s`](#%s)", name, anchor(name)), verb.Short})
				verbs = append(verbs, verb)
				walk(verb)
			}
		}
	}
	root := cli.Command{}.Tree()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	walk(root)
	p.table([]string{"verb", "use"}, list)
	common := map[string]string{}
	p.text("## Flags of most verbs")
	p.text("The verbs below have these flags, too, if their help names the section.")
	for _, section := range sections(t, "report") {
		if name, _, _ := strings.Cut(section, ":\n"); slices.Contains(commonSections, name) {
			common[section] = name
			p.text("```\n" + section + "\n```")
		}
	}
	if len(common) != len(commonSections) {
		t.Errorf("the help of report has the sections %v, want %q", common, commonSections)
	}
	for _, verb := range verbs {
		words := strings.Fields(verb.CommandPath())[1:]
		var own, also []string
		for _, section := range sections(t, words...) {
			if name := common[section]; name != "" {
				also = append(also, name)
			} else {
				own = append(own, section)
			}
		}
		p.text("## " + strings.Join(words, " "))
		p.text("```\n" + strings.Join(own, "\n\n") + "\n```")
		if also != nil {
			p.text("[Flags of most verbs](#flags-of-most-verbs): " + strings.Join(also, ", ") + ".")
		}
	}
	return p.String()
}

// commonSections are the sections of flags that most verbs have.
var commonSections = []string{"Target", "Output", "Rarely used", "Server"}

// sections returns the sections of the help of a verb.
func sections(t *testing.T, verb ...string) []string {
	t.Helper()
	status, help, errs := e2e.Output(t, slices.Concat(verb, []string{"--help"})...)
	if status != cli.ExitOK || errs != "" {
		t.Fatalf("%v --help: exit status %d, %s", verb, status, errs)
	}
	return strings.Split(strings.Trim(help, "\n"), "\n\n")
}
