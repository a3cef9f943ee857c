package assay;

import com.sun.source.util.TaskEvent;
import com.sun.source.util.TaskListener;
import com.sun.tools.javac.api.MultiTaskListener;
import com.sun.tools.javac.file.JavacFileManager;
import com.sun.tools.javac.main.Main;
import com.sun.tools.javac.util.Context;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;
import javax.lang.model.SourceVersion;
import javax.lang.model.element.ElementKind;
import javax.lang.model.element.ExecutableElement;
import javax.lang.model.element.Modifier;
import javax.lang.model.element.TypeElement;
import javax.lang.model.type.ArrayType;
import javax.lang.model.type.DeclaredType;
import javax.lang.model.type.TypeKind;
import javax.lang.model.type.TypeMirror;
import javax.lang.model.util.ElementFilter;
import javax.tools.ForwardingJavaFileObject;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;

/**
 * javac for programs as people submit them, with the arguments of javac. It differs from javac in three points:
 *
 * - The file that the arguments name may have any name, whatever the name of its public class is.
 * - The other Java files of the current directory and below it are compiled, too.
 * - If the class that is to be started is not `Main`, its name is written to the file `-main-class`, which main.c reads. No file of a
 *   request can have this name, and the files of a compile step that are kept for later runs can.
 */
public final class Compiler {
	private static final String SUFFIX = ".java", MAIN = "Main";
	static final Path MAIN_CLASS = Path.of("-main-class");

	/** From Java 25 on, the method `main` needs neither be static or public, nor have a parameter. */
	private static final boolean HAS_INSTANCE_MAIN = Runtime.version().feature() >= 25;

	private Compiler() {}

	public static void main(String[] arguments) throws IOException {
		System.exit(compile(arguments));
	}

	/** Returns the exit code of javac. The agent of a waiting compiler calls this, too (park/java.c). */
	public static int compile(String[] arguments) throws IOException {
		var entry = Stream.of(arguments).filter(word -> word.endsWith(SUFFIX)).findFirst().map(Path::of).orElseThrow();
		var words = new ArrayList<>(List.of(arguments));
		try (var paths = Files.walk(Path.of(""))) {
			paths.filter(path -> path.toString().endsWith(SUFFIX) && !path.equals(entry) && Files.isRegularFile(path))
				.sorted().forEach(path -> words.add(path.toString()));
		}
		var context = new Context();
		context.put(JavaFileManager.class, (Context.Factory<JavaFileManager>) own -> new Manager(own, entry));
		var classes = new ArrayList<Found>();
		MultiTaskListener.instance(context).add(new TaskListener() {
			@Override
			public void finished(TaskEvent event) {
				if (event.getKind() == TaskEvent.Kind.ANALYZE && event.getTypeElement() != null)
					addClasses(event.getTypeElement(), event.getSourceFile(), classes);
			}
		});
		var result = new Main("javac").compile(words.toArray(String[]::new), context);
		context.get(JavaFileManager.class).close();
		if (result.isOK()) {
			var main = classes.stream().min(ORDER).map(Found::name).orElse(MAIN);
			if (!main.equals(MAIN))
				Files.writeString(MAIN_CLASS, main);
		}
		return result.exitCode;
	}

	/** A class of the program, by the name with which Java starts it. */
	private record Found(String name, boolean isNested, boolean isPublic, boolean starts, boolean isInEntry, String file) {
		boolean isNamed(String simpleName) {
			return name.substring(name.lastIndexOf('.') + 1).equals(simpleName);
		}
	}

	private static Comparator<Found> first(Predicate<Found> one) {
		return Comparator.comparing(one::test, Comparator.reverseOrder());
	}

	/** The order in which classes are considered. The sort is stable: at last, the first one in the source is considered. */
	private static final Comparator<Found> ORDER = first(Found::starts)
		.thenComparing(first(Found::isInEntry))
		.thenComparing(Found::isNested)
		.thenComparing(first(found -> found.isNamed(found.file)))
		.thenComparing(first(found -> found.isNamed(MAIN)))
		.thenComparing(first(Found::isPublic));

	private static void addClasses(TypeElement type, JavaFileObject source, List<Found> classes) {
		var path = source.getName();
		var file = path.substring(path.lastIndexOf('/') + 1).replace(SUFFIX, "");
		addClasses(type, type.getQualifiedName().toString(), false, source instanceof Entry, file, classes);
	}

	private static void addClasses(TypeElement type, String name, boolean isNested, boolean isInEntry, String file, List<Found> classes) {
		if (!type.getKind().isDeclaredType())
			return;
		classes.add(new Found(name, isNested, type.getModifiers().contains(Modifier.PUBLIC), starts(type), isInEntry, file));
		for (var nested : ElementFilter.typesIn(type.getEnclosedElements()))
			addClasses(nested, name + "$" + nested.getSimpleName(), true, isInEntry, file, classes);
	}

	/** Whether Java can start the class. */
	private static boolean starts(TypeElement type) {
		for (TypeElement at = type; at != null; at = superclass(at))
			for (var method : ElementFilter.methodsIn(at.getEnclosedElements()))
				if (isMain(method, type))
					return true;
		return false;
	}

	private static TypeElement superclass(TypeElement type) {
		return type.getSuperclass() instanceof DeclaredType above && above.getKind() == TypeKind.DECLARED &&
			above.asElement() instanceof TypeElement element ? element : null;
	}

	private static boolean isMain(ExecutableElement method, TypeElement type) {
		if (!method.getSimpleName().contentEquals("main") || method.getReturnType().getKind() != TypeKind.VOID)
			return false;
		var modifiers = method.getModifiers();
		var parameters = method.getParameters();
		boolean hasArguments = parameters.size() == 1 && isTexts(parameters.get(0).asType());
		if (!HAS_INSTANCE_MAIN)
			return hasArguments && modifiers.contains(Modifier.PUBLIC) && modifiers.contains(Modifier.STATIC);
		boolean isConcrete = type.getKind() != ElementKind.INTERFACE && !type.getModifiers().contains(Modifier.ABSTRACT);
		return (hasArguments || parameters.isEmpty()) && !modifiers.contains(Modifier.PRIVATE) &&
			(modifiers.contains(Modifier.STATIC) || isConcrete);
	}

	private static boolean isTexts(TypeMirror type) {
		return type instanceof ArrayType array && array.getComponentType() instanceof DeclaredType component &&
			component.asElement() instanceof TypeElement element && element.getQualifiedName().contentEquals("java.lang.String");
	}

	private static final class Manager extends JavacFileManager {
		private final Path entry;

		Manager(Context context, Path entry) {
			super(context, true, null);
			this.entry = entry;
		}

		@Override
		public Iterable<? extends JavaFileObject> getJavaFileObjectsFromPaths(Collection<? extends Path> paths) {
			var objects = new ArrayList<JavaFileObject>();
			for (var path : paths)
				for (var object : super.getJavaFileObjectsFromPaths(List.of(path)))
					objects.add(path.equals(entry) ? new Entry(object) : object);
			return objects;
		}
	}

	/** The file of the program, which is compatible with the names of all classes, but not with those of package-info and module-info. */
	private static final class Entry extends ForwardingJavaFileObject<JavaFileObject> {
		Entry(JavaFileObject file) {
			super(file);
		}

		@Override
		public boolean isNameCompatible(String simpleName, Kind kind) {
			return super.isNameCompatible(simpleName, kind) || (kind == Kind.SOURCE && SourceVersion.isIdentifier(simpleName));
		}
	}
}
