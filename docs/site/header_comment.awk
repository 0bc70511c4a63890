# Turns the comment at the top of a header, which says what the whole file is about, into one that Doxygen keeps as it is laid out.
NR == 1 && /^\/\* / { print "/** @file"; print "@verbatim"; print substr($0, 4); inside = 1; next }
inside && /^ \*\/$/ { print "@endverbatim"; print "*/"; inside = 0; next }
inside && /SPDX-License-Identifier/ { next }
inside && /\*\/$/ { sub(/ *\*\/$/, ""); sub(/^ \* ?/, ""); print; print "@endverbatim"; print "*/"; inside = 0; next }
inside { sub(/^ \* ?/, "") }
{ print }
