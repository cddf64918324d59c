"""The stages: one function per rule of the workflow, called by the rule's script in workflow/scripts."""
