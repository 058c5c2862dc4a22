// Command thirdparty writes the licences of all modules that are linked into a Go program, and its bill of materials
// in the JSON format of CycloneDX.
//
//	go run ./thirdparty [-licences FILE] [-sbom FILE] PROGRAM
//
// The program itself has the list of its modules. SOURCE_DATE_EPOCH is the time of the bill, in seconds since 1970.
package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	licences := flag.String("licences", "", "write the texts of the licences to this `file`")
	sbom := flag.String("sbom", "", "write the bill of materials to this `file`")
	version := flag.String("version", "", "the version of the program, in place of that of its module")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: thirdparty [-licences FILE] [-sbom FILE] [-version VERSION] PROGRAM")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *licences, *sbom, *version); err != nil {
		fmt.Fprintln(os.Stderr, "thirdparty:", err)
		os.Exit(1)
	}
}

// part is a linked module, or Go's own library.
type part struct {
	name, version, sum string
	spdx               string // identifiers of its licences, joined by AND
	texts              []string
}

func run(program, licences, sbom, version string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	parts, err := partsOf(info)
	if err != nil {
		return err
	}
	if licences != "" {
		if err := os.WriteFile(licences, licenceTexts(info, parts), 0o644); err != nil {
			return err
		}
	}
	if sbom == "" {
		return nil
	}
	b, err := bill(info, parts, cmp.Or(version, info.Main.Version))
	if err != nil {
		return err
	}
	return os.WriteFile(sbom, b, 0o644)
}

// partsOf returns the modules of a program, by name, after Go's own library.
func partsOf(info *debug.BuildInfo) ([]part, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	std := part{name: "std", version: strings.TrimPrefix(info.GoVersion, "go")}
	std.version, _, _ = strings.Cut(std.version, " ")
	parts := []part{std}
	if err := parts[0].read(strings.TrimSpace(string(root))); err != nil {
		return nil, err
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		p := part{name: m.Path, version: m.Version, sum: m.Sum}
		out, err := exec.Command("go", "mod", "download", "-json", m.Path+"@"+m.Version).Output()
		if err != nil {
			return nil, fmt.Errorf("go mod download %s: %w", m.Path, err)
		}
		var module struct{ Dir string }
		if err := json.Unmarshal(out, &module); err != nil {
			return nil, fmt.Errorf("go mod download %s: %w", m.Path, err)
		}
		if err := p.read(module.Dir); err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// read reads the files with licences and notices of a directory.
func (p *part) read(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	var ids []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE"},
			func(start string) bool { return strings.HasPrefix(name, start) }) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		p.texts = append(p.texts, strings.TrimSpace(string(b))+"\n")
		ids = append(ids, identify(string(b))...)
	}
	slices.Sort(ids)
	p.spdx = strings.Join(slices.Compact(ids), " AND ")
	if p.spdx == "" {
		return fmt.Errorf("%s %s has no known licence", p.name, p.version)
	}
	return nil
}

// identify returns the SPDX identifiers of the licences in a text.
func identify(text string) (ids []string) {
	text = strings.Join(strings.Fields(text), " ")
	has := func(s string) bool { return strings.Contains(text, s) }
	if has("Apache License Version 2.0") {
		ids = append(ids, "Apache-2.0")
	}
	if has("Permission is hereby granted, free of charge") {
		ids = append(ids, "MIT")
	}
	if has("Redistribution and use in source and binary forms") {
		switch {
		case has("GNU General Public License") && has("ALTERNATIVELY"):
			ids = append(ids, "(BSD-3-Clause OR GPL-2.0-only)")
		case has("endorse or promote"):
			ids = append(ids, "BSD-3-Clause")
		default:
			ids = append(ids, "BSD-2-Clause")
		}
	}
	return ids
}

// licenceTexts returns the file THIRD-PARTY.
func licenceTexts(info *debug.BuildInfo, parts []part) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is linked with these modules, under their own licences:\n\n", path.Base(info.Path))
	for _, p := range parts {
		fmt.Fprintf(&b, "  %s %s: %s\n", p.name, p.version, p.spdx)
	}
	for _, p := range parts {
		for _, text := range p.texts {
			fmt.Fprintf(&b, "\n%s\n%s %s\n\n%s", strings.Repeat("=", 80), p.name, p.version, text)
		}
	}
	return []byte(b.String())
}

// component is a component of CycloneDX 1.5.
type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Licences   []licence  `json:"licenses"`
	Properties []property `json:"properties,omitempty"`
}

type licence struct {
	Expression string `json:"expression"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func newComponent(kind, name, version, spdx string) component {
	purl := "pkg:golang/" + name + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Type: kind, Ref: purl, Name: name, Version: version, PURL: purl, Licences: []licence{{spdx}}}
}

// bill returns the bill of materials of a program.
func bill(info *debug.BuildInfo, parts []part, version string) ([]byte, error) {
	app := newComponent("application", info.Main.Path, version, "Apache-2.0")
	components, refs := []component{}, []string{}
	for _, p := range parts {
		c := newComponent("library", p.name, p.version, p.spdx)
		if p.sum != "" {
			c.Properties = []property{{"go:sum", p.sum}}
		}
		components, refs = append(components, c), append(refs, c.Ref)
	}
	type metadata struct {
		Timestamp string    `json:"timestamp,omitempty"`
		Component component `json:"component"`
	}
	about := metadata{Component: app}
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
		about.Timestamp = time.Unix(seconds, 0).UTC().Format(time.RFC3339)
	}
	// The serial number follows from the content, so that two builds are the same.
	content, err := json.Marshal([]any{about, components})
	if err != nil {
		return nil, err
	}
	id := sha256.Sum256(content)
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // a UUID of version 8
	b, err := json.MarshalIndent(struct {
		Format       string      `json:"bomFormat"`
		Spec         string      `json:"specVersion"`
		Serial       string      `json:"serialNumber"`
		Version      int         `json:"version"`
		Metadata     metadata    `json:"metadata"`
		Components   []component `json:"components"`
		Dependencies []any       `json:"dependencies"`
	}{"CycloneDX", "1.5", fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16]), 1,
		about, components, []any{map[string]any{"ref": app.Ref, "dependsOn": refs}}}, "", "  ")
	return append(b, '\n'), err
}
