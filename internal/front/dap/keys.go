package dap

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// attachOnly are the keys of Attach that have no effect on a started program.
var attachOnly = []string{"target", "server", "hold"}

// editorKeys are keys of configurations that editors use themselves, and send nevertheless. Keys that start with two
// underscores are the editor's, too. The extension reads "adapter".
var editorKeys = []string{
	"adapter", "debugServer", "internalConsoleOptions", "linux", "name", "noDebug", "osx", "postDebugTask",
	"preLaunchTask", "presentation", "request", "serverReadyAction", "suppressMultipleSessionWarning", "type",
	"windows",
}

// otherKeys maps keys of other adapters to the key that has their meaning here.
var otherKeys = map[string]string{
	"core": "target", "coreFile": "target", "coreDumpPath": "target", "pid": "target", "processId": "target",
	"executable": "exe", "environment": "env", "sourceFileMap": "sourceMap", "sourcePath": "sourceMap",
	"debugFileDirectory": "debugDirs", "sysRoot": "sysroot",
}

// maxHints bounds the unknown keys that are listed.
const maxHints = 10

// reportUnknownKeys informs the user about the keys of a configuration without an effect. known is the configuration.
func (a *adapter) reportUnknownKeys(known any) {
	var sent map[string]json.RawMessage
	if json.Unmarshal(a.current.Arguments, &sent) != nil {
		return
	}
	names := jsonKeys(reflect.TypeOf(known))
	if _, started := known.(Launch); started {
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(attachOnly, name) })
	}
	unknown := 0
	for _, key := range slices.Sorted(maps.Keys(sent)) {
		if slices.Contains(names, key) || slices.Contains(editorKeys, key) || strings.HasPrefix(key, "__") {
			continue
		}
		if unknown++; unknown <= maxHints {
			a.print(console, fmt.Sprintf("%s: %.40q has no effect%s", a.current.Command, key, keyHint(key, names)))
		}
	}
	if unknown > maxHints {
		a.print(console, fmt.Sprintf("%s: %d more keys have no effect", a.current.Command, unknown-maxHints))
	}
}

// keyHint returns the advice for an unknown key, or "".
func keyHint(key string, names []string) string {
	switch {
	case strings.HasPrefix(key, "stopOn"), strings.HasPrefix(key, "stopAt"):
		return ": programs are not stopped at their start, only when they hang or crash"
	case key == "console", key == "externalConsole":
		return ": the program's output appears in the debug console"
	}
	for _, name := range names {
		if isNear(strings.ToLower(key), strings.ToLower(name)) {
			return fmt.Sprintf(": did you mean %q?", name)
		}
	}
	meant := otherKeys[key]
	switch {
	case key == "program" && !slices.Contains(names, key):
		return `: "target" is the core file or the process, "exe" the program's file`
	case slices.Contains(names, meant):
		return fmt.Sprintf(": here it is %q", meant)
	case slices.Contains(attachOnly, meant), slices.Contains(attachOnly, key):
		return ` on a program that is started: it belongs to "request": "attach"`
	}
	return ""
}

// isNear reports whether two words differ in at most one letter: one more, one less, another one, or two exchanged.
func isNear(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	start := 0
	for start < len(a) && a[start] == b[start] {
		start++
	}
	a, b = a[start:], b[start:]
	switch len(b) - len(a) {
	case 0:
		swapped := len(a) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
		return len(a) == 0 || a[1:] == b[1:] || swapped
	case 1:
		return a == b[1:]
	}
	return false
}

// jsonKeys returns the keys of a configuration's type.
func jsonKeys(t reflect.Type) (keys []string) {
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("json"); name != "" {
			keys = append(keys, name)
		}
	}
	return keys
}
