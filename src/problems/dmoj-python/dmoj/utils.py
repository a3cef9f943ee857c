from dmoj import submodule


def utf8bytes(text):
    """The bytes of a text; bytes stay what they are."""
    return text.encode("utf-8") if isinstance(text, str) else text


def utf8text(data, errors="strict"):
    """The text of bytes; a text stays what it is."""
    return data.decode("utf-8", errors) if isinstance(data, (bytes, bytearray)) else data


submodule(__name__, "unicode", utf8bytes=utf8bytes, utf8text=utf8text)
