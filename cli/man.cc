// openaclnn man: generates manual pages from the --help text.
#include <fmt/core.h>

#include <deque>
#include <filesystem>
#include <memory>
#include <sstream>

#include "new_file.h"
#include "program.h"
#include "suggest.h"

namespace openaclnn_cli {

namespace {

// Escapes text for roff.
std::string roff(const std::string& text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    out += c == '\\' ? std::string("\\e") : c == '-' ? std::string("\\-") : std::string(1, c);
    line_begins = c == '\n';
  }
  return out;
}

void add_options(const CLI::App& command, std::ostream& out) {
  for (const CLI::Option* const option : command.get_options()) {
    const std::string type = option->get_type_size() == 0 ? "" : option->get_type_name();
    out << ".TP\n\\fB" << roff(option->get_name(false, true)) << "\\fR"
        << (type.empty() ? "" : " " + roff(type)) << "\n"
        << roff(option->get_description()) << "\n";
  }
}

std::string page_name(const CLI::App& command) {
  return command.get_parent() == nullptr ? "openaclnn"
                                         : page_name(*command.get_parent()) + "-" + command.get_name();
}

std::vector<const CLI::App*> children_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

std::string manual(const CLI::App& command) {
  std::ostringstream out;
  const std::string what = command.get_description();
  out << ".TH " << page_name(command) << " 1 \"\" \"openaclnn " << OPENACLNN_VERSION << "\"\n.SH NAME\n"
      << roff(page_name(command)) << " \\- " << roff(what.substr(0, what.find('\n'))) << "\n.SH SYNOPSIS\n.B "
      << roff(spoken_name(command)) << "\n[OPTIONS]" << (children_of(command).empty() ? "" : " COMMAND")
      << "\n";
  out << ".SH DESCRIPTION\n.nf\n" << roff(what) << "\n.fi\n.SH OPTIONS\n";
  add_options(command, out);
  if (!children_of(command).empty()) out << ".SH COMMANDS\n";
  for (const CLI::App* const child : children_of(command)) {
    out << ".TP\n\\fB" << roff(child->get_name()) << "\\fR\n" << roff(child->get_description()) << "\n";
    if (command.get_parent() == nullptr) continue;
    out << ".RS\n";  // subcommands have no page of their own
    add_options(*child, out);
    out << ".RE\n";
  }
  out << ".SH NOTES\n.nf\n" << roff(command.get_footer()) << "\n.fi\n";
  if (command.get_parent() != nullptr) out << ".SH SEE ALSO\n.BR openaclnn (1)\n";
  return out.str();
}

int write_all(const CLI::App& root, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::vector<const CLI::App*> pages = children_of(root);
  pages.push_back(&root);
  std::deque<NewFile> files;
  for (const CLI::App* const command : pages) {
    NewFile& file = files.emplace_back(folder + "/" + page_name(*command) + ".1");
    file.append(manual(*command));
    file.sync();
  }
  for (NewFile& file : files) file.publish();
  return kFine;
}

struct ManOptions {
  std::string command, folder;
};

int show(const CLI::App& root, const ManOptions& options) {
  if (!options.folder.empty() && !options.command.empty())
    throw BadInput(fmt::format("--all writes the pages of every command; leave out '{}'", options.command));
  if (!options.folder.empty()) return write_all(root, options.folder);
  const CLI::App* wanted = &root;
  for (const CLI::App* const child : children_of(root)) {
    if (child->get_name() == options.command) wanted = child;
  }
  if (wanted == &root && !options.command.empty()) throw BadInput(unknown_word_text(root, options.command));
  fmt::print("{}", manual(*wanted));
  return kFine;
}

}  // namespace

void add_man(Program& program) {
  const auto options = std::make_shared<ManOptions>();
  CLI::App* const command = add_command(program, "man", "Print a manual page with the text of --help",
                                        "Example: openaclnn man run | man -l -",
                                        [&program, options] { return show(program.app, *options); });
  command->add_option("COMMAND", options->command, "The command; by default, the program itself")
      ->type_name("");
  command->add_option("--all", options->folder, "Write the pages of all commands into this folder")
      ->type_name("FOLDER");
}

}  // namespace openaclnn_cli
