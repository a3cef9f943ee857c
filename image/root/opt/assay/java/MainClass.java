package assay;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Modifier;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;

/**
 * Finds the class with `main` among the class files of the current directory, for compilers that do not tell it, and writes its name to the
 * file that main.c reads. The argument is the class path of the program. If several classes have `main`, `Main` is started, or else the first
 * one in the order of their names. The classes are not initialised, so no code of the program runs.
 */
public final class MainClass {
	private static final String SUFFIX = ".class", MAIN = "Main";

	private MainClass() {}

	public static void main(String[] arguments) throws IOException {
		var urls = new ArrayList<URL>();
		for (var path : arguments[0].split(File.pathSeparator))
			urls.add(url(path));
		var loader = new URLClassLoader(urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
		try (loader; var paths = Files.walk(Path.of(""))) {
			var names = paths.map(Path::toString).filter(path -> path.endsWith(SUFFIX))
				.map(path -> path.substring(0, path.length() - SUFFIX.length()).replace('/', '.'))
				.sorted(Comparator.comparing((String name) -> !name.equals(MAIN)).thenComparing(Comparator.naturalOrder())).toList();
			for (var name : names)
				if (starts(name, loader)) {
					if (!name.equals(MAIN))
						Files.writeString(Compiler.MAIN_CLASS, name);
					return;
				}
		}
	}

	private static URL url(String path) throws MalformedURLException {
		return Path.of(path).toUri().toURL();
	}

	private static boolean starts(String name, ClassLoader loader) {
		try {
			var main = Class.forName(name, false, loader).getMethod("main", String[].class);
			return Modifier.isStatic(main.getModifiers()) && main.getReturnType() == void.class;
		} catch (ReflectiveOperationException | LinkageError none) {
			return false;
		}
	}
}
