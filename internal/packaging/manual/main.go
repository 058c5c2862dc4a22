// Manual writes the manual pages of ompd-inspect, one for each verb, and its completions for bash, zsh and fish, below
// the share directory of an installation.
//
//	manual [-version VERSION] DIRECTORY
//
// SOURCE_DATE_EPOCH is the date of the pages, in seconds since 1970.
package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
)

func main() {
	version := flag.String("version", "", "the version in the foot of the pages")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: manual [-version VERSION] DIRECTORY")
		os.Exit(2)
	}
	if err := writeFiles(flag.Arg(0), *version); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

// writeFiles writes all files below the share directory of an installation.
func writeFiles(share, version string) error {
	root := cli.Command{Version: cmp.Or(version, "devel"), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}.Tree()
	for path, generate := range map[string]func(*bytes.Buffer) error{
		"bash-completion/completions/" + root.Name(): func(b *bytes.Buffer) error {
			return root.GenBashCompletionV2(b, true)
		},
		"zsh/site-functions/_" + root.Name(): func(b *bytes.Buffer) error { return root.GenZshCompletion(b) },
		"fish/vendor_completions.d/" + root.Name() + ".fish": func(b *bytes.Buffer) error {
			return root.GenFishCompletion(b, true)
		},
	} {
		var b bytes.Buffer
		if err := generate(&b); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := writeFile(filepath.Join(share, path), b.Bytes()); err != nil {
			return err
		}
	}
	return writePages(root, filepath.Join(share, "man", "man1"), strings.TrimSpace("ompd-inspect "+version))
}

// writePages writes the page of a command and those of its verbs.
func writePages(c *cobra.Command, dir, source string) error {
	for _, verb := range c.Commands() {
		if verb.IsAvailableCommand() && !verb.IsAdditionalHelpTopicCommand() {
			if err := writePages(verb, dir, source); err != nil {
				return err
			}
		}
	}
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	page, err := pageOf(c, doc.GenManHeader{Title: strings.ToUpper(name), Section: "1", Source: source,
		Manual: "User Commands"})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return writeFile(filepath.Join(dir, name+".1"), page)
}

func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

// usualStatus is the exit status of verbs whose help does not mention it.
const usualStatus = "0 the target was read, 1 it could not be read, 2 wrong usage, 74 the output could not be " +
	"written, 130 Ctrl-C ended it."

// pageOf returns the manual page of a command. The help is plain text, but cobra reads it as Markdown, so it is
// converted to Markdown during the call.
func pageOf(c *cobra.Command, header doc.GenManHeader) ([]byte, error) {
	restore := convertHelp(c)
	defer restore()
	c.InitDefaultHelpFlag()
	c.DisableAutoGenTag = true
	var b bytes.Buffer
	err := doc.GenMan(c, &header, &b)
	return b.Bytes(), err
}

// convertHelp converts the help of a command to Markdown, with its exit statuses in a section of their own.
// restore undoes that.
func convertHelp(c *cobra.Command) (restore func()) {
	short, long := c.Short, c.Long
	var usages []func()
	all := func(f *pflag.Flag) {
		usage := f.Usage
		usages = append(usages, func() { f.Usage = usage })
		f.Usage = escape(f.Usage)
	}
	c.NonInheritedFlags().VisitAll(all)
	c.InheritedFlags().VisitAll(all)
	var text strings.Builder
	status := usualStatus
	for paragraph := range strings.SplitSeq(cmp.Or(long, short+"."), "\n\n") {
		if s, found := strings.CutPrefix(paragraph, "Exit status: "); found {
			status = s
			continue
		}
		text.WriteString(formatParagraph(paragraph) + "\n\n")
	}
	text.WriteString("# EXIT STATUS\n" + escape(status))
	c.Short, c.Long = escape(short), text.String()
	return func() {
		c.Short, c.Long = short, long
		for _, undo := range usages {
			undo()
		}
	}
}

// formatParagraph returns a paragraph of help as Markdown. Indented lines stay lines.
func formatParagraph(text string) string {
	if !strings.HasPrefix(text, "  ") {
		return escape(text)
	}
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}

// special matches the characters with a meaning in Markdown.
var special = regexp.MustCompile(`[\\*_<>\[\]#&|]`)

// escape returns plain text as Markdown. Text between backticks stays unchanged.
func escape(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = special.ReplaceAllString(parts[i], `\$0`)
	}
	return strings.Join(parts, "`")
}
