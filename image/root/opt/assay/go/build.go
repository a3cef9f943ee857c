// Builds Go programs from the compiled standard library, by the compiler and the linker alone, as `go build` does after it has checked
// that nothing else needs to be built. As /opt/assay/go/build, it compiles the given files of /box to /box/main. As the command `go`, it has
// `go build`, `go run` and `go version`.
//
// A program with a go.mod can have packages of its own module, of modules in other directories (`replace`), and of vendor/. Other modules
// would have to be downloaded, and a box has no network. A program without a go.mod is one package, of all of its files.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

const (
	toolchain   = "/opt/assay/go/"
	manifest    = "go.mod"
	failed      = 2
	newestMinor = 24
	usage       = "this go has the commands build [-o FILE] [FILES or DIRECTORY], run [FILES or DIRECTORY] [ARGUMENTS] and version"
)

func fail(format string, words ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", words...)
	os.Exit(failed)
}

func check(err error) {
	if err != nil {
		fail("%v", err)
	}
}

// A module is a directory of packages; its path is the beginning of theirs.
type module struct {
	path, dir string
	// The version of the language, such as go1.24.
	version  string
	replaced []module
}

// nearestModule finds the module of a directory of the program, or nil.
func nearestModule(dir string) *module {
	for {
		if data, err := os.ReadFile(filepath.Join(dir, manifest)); err == nil {
			return readModule(dir, string(data))
		}
		if dir == "." || dir == "/" {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

func unquoted(word string) string {
	if text, err := strconv.Unquote(word); err == nil {
		return text
	}
	return word
}

func readModule(dir, text string) *module {
	found := &module{dir: dir, version: fmt.Sprintf("go1.%d", newestMinor)}
	block := ""
	for number, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if block != "" {
			if words[0] == ")" {
				block = ""
				continue
			}
			words = append([]string{block}, words...)
		} else if len(words) > 1 && words[1] == "(" {
			block = words[0]
			continue
		}
		at := fmt.Sprintf("%s:%d", filepath.Join(dir, manifest), number+1)
		switch {
		case words[0] == "module" && len(words) == 2:
			found.path = unquoted(words[1])
		case words[0] == "go" && len(words) == 2:
			found.version = languageVersion(at, words[1])
		case words[0] == "replace":
			for i, word := range words {
				// Only a directory: another module would have to be downloaded.
				if word == "=>" && i > 1 && i == len(words)-2 && strings.HasPrefix(unquoted(words[i+1]), ".") {
					target := filepath.Join(dir, unquoted(words[i+1]))
					found.replaced = append(found.replaced, module{path: unquoted(words[1]), dir: target})
				}
			}
		}
	}
	if found.path == "" {
		fail("%s: there is no line with the path of the module", filepath.Join(dir, manifest))
	}
	return found
}

func languageVersion(at, text string) string {
	digits, isFirst := strings.CutPrefix(text, "1.")
	if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = digits[:end]
	}
	minor, err := strconv.Atoi(digits)
	if !isFirst || err != nil {
		fail("%s: invalid go version %q", at, text)
	}
	if minor > newestMinor {
		fail("%s: requires go %s, and this is go 1.%d", at, text, newestMinor)
	}
	return fmt.Sprintf("go1.%d", minor)
}

// A builder compiles packages, each after those that it imports.
type builder struct {
	module           *module
	public, internal map[string]bool
	objects          string
	imports, links   strings.Builder
	done             map[string]bool
	// The packages that are being compiled, each imported by the one before.
	importing []string
}

func packagesIn(file string) (map[string]bool, string) {
	data, err := os.ReadFile(toolchain + file)
	check(err)
	found := map[string]bool{}
	for _, line := range strings.Split(string(data), "\n") {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "packagefile "), "=")
		found[name] = true
	}
	return found, string(data)
}

func newBuilder(own *module) *builder {
	b := &builder{module: own, done: map[string]bool{}}
	var public, all string
	b.public, public = packagesIn("compile.cfg")
	b.internal, all = packagesIn("link.cfg")
	b.imports.WriteString(public)
	b.links.WriteString(all)
	var err error
	b.objects, err = os.MkdirTemp("", "go-build")
	check(err)
	return b
}

func within(name, module string) (string, bool) {
	if name == module {
		return "", true
	}
	return strings.CutPrefix(name, module+"/")
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// directoryOf returns the directory of a package that is not in the standard library, or "".
func (b *builder) directoryOf(name string) string {
	if b.module == nil {
		return ""
	}
	for _, one := range append(b.module.replaced, *b.module) {
		if rest, ok := within(name, one.path); ok && isDirectory(filepath.Join(one.dir, rest)) {
			return filepath.Join(one.dir, rest)
		}
	}
	if dir := filepath.Join(b.module.dir, "vendor", name); isDirectory(dir) {
		return dir
	}
	return ""
}

// need compiles a package that another one imports, if necessary.
func (b *builder) need(name, at string) {
	// The compiler has the package unsafe in itself, and explains that there is no package C.
	if name == "C" || name == "unsafe" || b.public[name] || b.done[name] {
		return
	}
	switch dir := b.directoryOf(name); {
	case dir != "":
		b.compile(name, b.read(dir, nil))
	case b.internal[name]:
		fail("%s: use of internal package %s not allowed", at, name)
	case strings.HasPrefix(name, "."):
		fail("%s: %q is relative, but relative import paths are not supported", at, name)
	case b.module == nil && strings.Contains(name, "/"):
		fail("%s: package %s is not in std, and there is no go.mod: packages of the program need one", at, name)
	case b.module == nil:
		fail("%s: package %s is not in std", at, name)
	default:
		fail("%s: package %s is neither in std nor in module %s, and cannot be downloaded: there is no network", at, name, b.module.path)
	}
}

// read reads the package of a directory, or of these files.
func (b *builder) read(dir string, files []string) *build.Package {
	context := build.Default
	context.CgoEnabled = false
	context.Compiler = "gc"
	if files != nil {
		// These are compiled whatever their constraints are.
		context.UseAllFiles = true
		context.ReadDir = func(string) ([]fs.FileInfo, error) {
			var all []fs.FileInfo
			for _, file := range files {
				info, err := os.Stat(file)
				if err != nil {
					return nil, err
				}
				all = append(all, named{info, file})
			}
			return all, nil
		}
	}
	found, err := context.ImportDir(dir, 0)
	var several *build.MultiplePackageError
	switch {
	case errors.As(err, &several):
		fail("found packages %s (%s) and %s (%s) in one program; packages other than main need a go.mod", several.Packages[0], several.Files[0], several.Packages[1], several.Files[1])
	case err != nil && files != nil:
		found.GoFiles = files // the compiler explains it
	case err != nil && len(found.InvalidGoFiles) > 0:
		found.GoFiles = append(found.GoFiles, found.InvalidGoFiles...)
	case err != nil:
		fail("%v", err)
	}
	if others := append(found.SFiles, found.CFiles...); len(others) > 0 && files == nil {
		fail("%s: only Go is compiled", filepath.Join(dir, others[0]))
	}
	return found
}

// A file with its path as its name.
type named struct {
	fs.FileInfo
	path string
}

func (n named) Name() string { return n.path }

// compile compiles a package after those that it imports. @returns its object.
func (b *builder) compile(name string, found *build.Package) string {
	for _, other := range b.importing {
		if other == name {
			fail("import cycle not allowed: %s", strings.Join(append(b.importing, name), " imports "))
		}
	}
	b.importing = append(b.importing, name)
	imports := append([]string{}, found.Imports...)
	sort.Strings(imports)
	for _, one := range imports {
		position := found.ImportPos[one][0]
		b.need(one, fmt.Sprintf("%s:%d:%d", position.Filename, position.Line, position.Column))
	}
	b.importing = b.importing[:len(b.importing)-1]

	object := filepath.Join(b.objects, strconv.Itoa(len(b.done))+".a")
	version := fmt.Sprintf("go1.%d", newestMinor)
	if b.module != nil {
		version = b.module.version
	}
	config := b.write("compile.cfg", b.imports.String())
	words := []string{"-p", name, "-complete", "-lang=" + version, "-pack", "-o", object, "-importcfg", config}
	if len(found.EmbedPatterns) > 0 {
		words = append(words, "-embedcfg", b.embed(found))
	}
	for _, file := range found.GoFiles {
		words = append(words, filepath.Join(found.Dir, file))
	}
	b.run("compile", words)
	b.done[name] = true
	line := "packagefile " + name + "=" + object + "\n"
	b.imports.WriteString(line)
	b.links.WriteString(line)
	return object
}

func (b *builder) write(name, text string) string {
	file := filepath.Join(b.objects, name)
	check(os.WriteFile(file, []byte(text), 0o600))
	return file
}

// embed writes the configuration by which the compiler embeds files.
func (b *builder) embed(found *build.Package) string {
	patterns, files := map[string][]string{}, map[string]string{}
	tree := os.DirFS(found.Dir)
	for _, pattern := range found.EmbedPatterns {
		glob, all := strings.CutPrefix(pattern, "all:")
		position := found.EmbedPatternPos[pattern][0]
		at := fmt.Sprintf("%s:%d:%d: pattern %s", position.Filename, position.Line, position.Column, pattern)
		if !fs.ValidPath(glob) {
			fail("%s: invalid pattern syntax", at)
		}
		matches, err := fs.Glob(tree, glob)
		if err != nil {
			fail("%s: %v", at, err)
		}
		var names []string
		for _, match := range matches {
			check(fs.WalkDir(tree, match, func(name string, entry fs.DirEntry, err error) error {
				hidden := name != match && !all && strings.ContainsAny(path.Base(name)[:1], "._")
				switch {
				case err != nil:
					return err
				case hidden && entry.IsDir():
					return fs.SkipDir
				case !hidden && entry.Type().IsRegular():
					names = append(names, name)
				case !hidden && !entry.IsDir():
					return fmt.Errorf("%s: cannot embed irregular file %s", at, name)
				}
				return nil
			}))
		}
		if len(names) == 0 {
			fail("%s: no matching files found", at)
		}
		sort.Strings(names)
		patterns[pattern] = names
		for _, name := range names {
			files[name] = filepath.Join(found.Dir, name)
		}
	}
	text, err := json.Marshal(map[string]any{"Patterns": patterns, "Files": files})
	check(err)
	return b.write("embed.cfg", string(text))
}

// run runs a tool, whose messages are those of the build.
func (b *builder) run(tool string, words []string) {
	command := exec.Command(toolchain+"tool/"+tool, words...)
	command.Stdout = os.Stderr
	for _, variable := range os.Environ() {
		// The tools would write counters of their use into it, and it can be the directory of the program.
		if !strings.HasPrefix(variable, "HOME=") {
			command.Env = append(command.Env, variable)
		}
	}
	end(command)
}

// end runs a command. If it fails, this program ends as the command has ended.
func end(command *exec.Cmd, remove ...string) {
	command.Stderr = os.Stderr
	err := command.Run()
	for _, file := range remove {
		check(os.Remove(file))
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
			check(syscall.Kill(os.Getpid(), status.Signal()))
		}
		os.Exit(exit.ExitCode())
	}
	check(err)
}

// program builds a program of files or of a directory. Files in other directories are part of it only without a go.mod.
func program(sources []string, out string) {
	dir := sources[0]
	isFile := strings.HasSuffix(dir, ".go")
	if isFile {
		dir = filepath.Dir(dir)
	}
	own := nearestModule(filepath.Clean(dir))
	b := newBuilder(own)
	var found *build.Package
	if own == nil && isFile {
		found = b.read(".", withoutTests(sources))
	} else {
		found = b.read(filepath.Clean(dir), nil)
	}
	if found.Name != "main" && found.Name != "" {
		fail("%s: package %s is not a main package", sources[0], found.Name)
	}
	object := b.compile("main", found)
	config := b.write("link.cfg", b.links.String())
	b.run("link", []string{"-s", "-w", "-buildmode=exe", "-importcfg", config, "-o", out, object})
	check(os.RemoveAll(b.objects))
}

func withoutTests(files []string) []string {
	var others []string
	for i, file := range files {
		if i == 0 || !strings.HasSuffix(file, "_test.go") {
			others = append(others, filepath.Clean(file))
		}
	}
	return others
}

// sourcesIn splits words into the sources of a program and other words.
func sourcesIn(words []string) (sources, others []string) {
	for len(words) > 0 && strings.HasSuffix(words[0], ".go") {
		sources, words = append(sources, words[0]), words[1:]
	}
	if len(sources) == 0 && len(words) > 0 {
		sources, words = words[:1], words[1:]
	}
	return sources, words
}

// command is the command `go` of programs and scripts.
func command(words []string) {
	if len(words) == 0 {
		fail(usage)
	}
	switch verb, words := words[0], words[1:]; verb {
	case "version":
		fmt.Printf("go version %s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	case "build":
		out := ""
		if len(words) > 1 && words[0] == "-o" {
			out, words = words[1], words[2:]
		}
		sources, others := sourcesIn(words)
		if len(others) > 0 || (len(sources) > 0 && strings.HasPrefix(sources[0], "-")) {
			fail(usage)
		}
		if len(sources) == 0 {
			sources = []string{"."}
		}
		if out == "" {
			whole, err := filepath.Abs(sources[0])
			check(err)
			out = strings.TrimSuffix(filepath.Base(whole), ".go")
			if own := nearestModule(filepath.Clean(sources[0])); own != nil && filepath.Clean(sources[0]) == own.dir {
				out = path.Base(own.path)
			}
		}
		program(sources, out)
	case "run":
		sources, arguments := sourcesIn(words)
		if len(sources) == 0 || strings.HasPrefix(sources[0], "-") {
			fail(usage)
		}
		// Nothing in the directory for temporary files can be executed.
		out, err := filepath.Abs(fmt.Sprintf(".go-run-%d", os.Getpid()))
		check(err)
		program(sources, out)
		child := exec.Command(out, arguments...)
		child.Stdin, child.Stdout = os.Stdin, os.Stdout
		end(child, out)
	default:
		fail(usage)
	}
}

func main() {
	if filepath.Base(os.Args[0]) == "go" {
		command(os.Args[1:])
		return
	}
	program(os.Args[1:], "main")
}
