BcbJ
8nŸ8ea