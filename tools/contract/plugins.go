package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// compile parses the .proto files of dir below root. Files in fresh replace those below root.
func compile(root, dir string, fresh map[string][]byte) (linker.Files, error) {
	names, err := filepath.Glob(filepath.Join(root, dir, "*.proto"))
	if err != nil || len(names) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%d .proto files below %s", len(names), root))
	}
	for i, name := range names {
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return nil, err
		}
		names[i] = filepath.ToSlash(rel)
	}
	slices.Sort(names)
	open := func(name string) (io.ReadCloser, error) {
		rel, err := filepath.Rel(root, name)
		if text, ok := fresh[filepath.ToSlash(rel)]; ok && err == nil {
			return io.NopCloser(bytes.NewReader(text)), nil
		}
		return os.Open(name)
	}
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(
			&protocompile.SourceResolver{ImportPaths: []string{root}, Accessor: open}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	return compiler.Compile(context.Background(), names...)
}

// request describes files and their imports, imports first.
func request(files linker.Files) *pluginpb.CodeGeneratorRequest {
	var names []string
	for _, f := range files {
		names = append(names, f.Path())
	}
	req := &pluginpb.CodeGeneratorRequest{FileToGenerate: names, Parameter: proto.String("paths=source_relative")}
	seen := map[string]bool{}
	for _, f := range files {
		add(req, seen, f)
	}
	return req
}

// add appends a file after its imports.
func add(req *pluginpb.CodeGeneratorRequest, seen map[string]bool, f protoreflect.FileDescriptor) {
	if seen[f.Path()] {
		return
	}
	seen[f.Path()] = true
	for i := range f.Imports().Len() {
		add(req, seen, f.Imports().Get(i).FileDescriptor)
	}
	var d *descriptorpb.FileDescriptorProto = protoutil.ProtoFromFileDescriptor(f)
	req.ProtoFile = append(req.ProtoFile, d)
}

// generate runs one plug-in and adds the generated files.
func generate(plugin string, req *pluginpb.CodeGeneratorRequest, files map[string][]byte) error {
	in, err := proto.Marshal(req)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "tool", plugin)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	b, err := cmd.Output()
	if err != nil {
		return err
	}
	var resp pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(b, &resp); err != nil {
		return err
	}
	if resp.Error != nil {
		return errors.New(resp.GetError())
	}
	for _, f := range resp.File {
		files[f.GetName()] = []byte(f.GetContent())
	}
	return nil
}
